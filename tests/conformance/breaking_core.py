"""How a broken core is written down: a function of dispatch that does one thing wrong, and a sentence that says what.

Each is a wrapper: it gets the real function first, and calls it for everything that it leaves right.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from conformance.breaking import Breakable
from dispatch.adapters.memory.backend import MemoryBackend
from dispatch.conformance.core import CoreBench, Process
from dispatch.conformance.core.process import ALIAS, VERSION
from dispatch.conformance.memory import MemoryHarness
from dispatch.core import deciding
from dispatch.shell.supervisor import TICK, Supervisor


class Unhurried(Supervisor):
    """A supervisor that looks for work every five seconds, so that hours cost less; the rules of time are the same."""

    async def _pause(self, wait: timedelta = TICK) -> None:
        del wait
        await self.ledger.clock.sleep_until(self.ledger.clock.now() + timedelta(seconds=5))


class UnhurriedProcess(Process):
    """A process with such a supervisor."""

    def make_supervisor(self) -> Supervisor:
        return Unhurried(self.ledger, self.clusters, VERSION, sweeps=(ALIAS,))


class UnhurriedBench(CoreBench):
    """A bench with such processes."""

    process: type[Process] = UnhurriedProcess


@dataclass(frozen=True)
class Broken:
    """What is put in place of what: nothing, one function, or the adapter."""

    place: tuple[Any, str] | None = None
    wrong: Any = None
    adapter: type[MemoryBackend] = MemoryBackend
    bench: type[CoreBench] = UnhurriedBench

    def harness(self) -> MemoryHarness:
        """The memory adapter, or the broken one."""
        return MemoryHarness(self.adapter)

    @contextmanager
    def at_work(self) -> Generator[None]:
        """Let what is wrong stand in its place, for as long as this lasts."""
        if self.place is None:
            yield
            return
        owner, name = self.place
        real = getattr(owner, name)
        setattr(owner, name, self.wrong(real))
        try:
            yield
        finally:
            setattr(owner, name, real)


BROKEN_CORES: dict[str, Broken] = {}


def _enter(sentence: str, broken: Broken) -> None:
    assert sentence, broken
    assert sentence not in BROKEN_CORES, sentence
    BROKEN_CORES[sentence] = broken


def in_place_of(
    owner: Any, name: str, adapter: type[MemoryBackend] = MemoryBackend
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the function below in place of that one, under the sentence of its docstring; it gets the real one first.

    ``adapter``: one that does not make up for it.
    """

    def enter(wrong: Callable[..., Any]) -> Callable[..., Any]:
        def wrap(real: Any) -> Any:
            def instead(*given: Any, **named: Any) -> Any:
                return wrong(real, *given, **named)

            return instead

        _enter((wrong.__doc__ or "").strip(), Broken((owner, name), wrap, adapter))
        return wrong

    return enter


def row(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the function below in place of that row of the decision table; it gets the real one first."""

    def enter(wrong: Callable[..., Any]) -> Callable[..., Any]:
        def wrap(real: Any) -> Any:
            assert any(one.__name__ == name for one in real), name
            return tuple(partial(wrong, one) if one.__name__ == name else one for one in real)

        _enter((wrong.__doc__ or "").strip(), Broken((deciding, "ROWS"), wrap))
        return wrong

    return enter


def adapter(kind: type[Breakable]) -> type[Breakable]:
    """Enter a broken adapter under the sentence of its docstring."""
    _enter((kind.__doc__ or "").strip(), Broken(adapter=kind))
    return kind


def supervisor(kind: type[Supervisor]) -> type[Supervisor]:
    """Enter a broken supervisor under the sentence of its docstring."""

    class Broke(Process):
        def make_supervisor(self) -> Supervisor:
            return kind(self.ledger, self.clusters, VERSION, sweeps=(ALIAS,))

    class Bench(CoreBench):
        process: type[Process] = Broke

    _enter((kind.__doc__ or "").strip(), Broken(bench=Bench))
    return kind
