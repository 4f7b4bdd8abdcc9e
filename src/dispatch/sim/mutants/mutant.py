"""A mutant: one thing of dispatch that is put wrong for the time of a run, and what must notice."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, cast

from dispatch.core import deciding
from dispatch.core.deciding import Row
from dispatch.sim.options import Options

PLAIN = Options()


@dataclass(frozen=True)
class Swap:
    """One attribute of a module or class, or one entry of a table, and what stands there instead."""

    owner: Any
    name: Hashable
    new: Any

    def stands(self) -> Any:
        """What stands there now."""
        # Not by getattr: what a class inherits would stay behind there.
        return _entries_of(self.owner)[self.name]

    def _put(self, value: Any) -> None:
        if _is_table(self.owner):
            self.owner[self.name] = value
        else:
            setattr(self.owner, str(self.name), value)

    @contextmanager
    def made(self) -> Generator[None]:
        """Make the swap for the time inside."""
        old = self.stands()
        self._put(self.new)
        try:
            yield
        finally:
            self._put(old)


def _is_table(owner: object) -> bool:
    return isinstance(owner, dict)


def _entries_of(owner: Any) -> Mapping[Hashable, Any]:
    return cast("Mapping[Hashable, Any]", owner if _is_table(owner) else vars(owner))


@dataclass(frozen=True)
class Mutant:
    """A named fault of dispatch.

    ``rule``: the rule of the protocol that it breaks; ``lesson``: why there is that rule. It is found within ``seeds`` seeds, from 0 on, in runs with ``options``.
    """

    name: str
    rule: str
    lesson: str
    swaps: tuple[Swap, ...]
    seeds: int
    options: Options = PLAIN

    @contextmanager
    def planted(self) -> Generator[None]:
        """Break dispatch for the time inside, in this process."""
        with ExitStack() as made:
            for swap in self.swaps:
                made.enter_context(swap.made())
            yield


def without(*rows: Row) -> Swap:
    """The decision table without these rows."""
    assert set(rows) <= set(deciding.ROWS)
    return Swap(deciding, "ROWS", tuple(row for row in deciding.ROWS if row not in rows))


def instead(row: Row, new: Row) -> Swap:
    """The decision table with another row in the place of one."""
    assert row in deciding.ROWS
    return Swap(deciding, "ROWS", tuple(new if one is row else one for one in deciding.ROWS))


def earlier(row: Row, than: Row) -> Swap:
    """The decision table with a row before another that it stands behind."""
    rest = [one for one in deciding.ROWS if one is not row]
    place = rest.index(than)
    assert deciding.ROWS.index(row) > place
    return Swap(deciding, "ROWS", (*rest[:place], row, *rest[place:]))


def constant(value: Any) -> Callable[..., Any]:
    """A function that answers the same, whatever it is asked."""
    return lambda *_, **__: value
