"""Checks and suites: a check is an async function whose name is the sentence that it proves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dispatch.model.answers import Capability

T = TypeVar("T")


@dataclass(frozen=True)
class Check(Generic[T]):
    """One rule: the function that proves it, and what it needs of an adapter.

    Where an adapter does not offer the protocol ``needs``, or does not answer the capability ``claims`` with yes, the
    check is skipped and says so.
    """

    prove: Callable[[T], Awaitable[None]]
    needs: type[Any] | None = None
    claims: Capability | None = None

    @property
    def name(self) -> str:
        """The sentence: the function's name with spaces."""
        return self.prove.__name__.replace("_", " ")

    @property
    def why(self) -> str:
        """The rule behind it: the function's docstring."""
        return " ".join((self.prove.__doc__ or "").split())


class Suite(Generic[T]):
    """Checks in the order in which they are written down."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._checks: dict[str, Check[T]] = {}

    def check(
        self, *, needs: type[Any] | None = None, claims: Capability | None = None
    ) -> Callable[[Callable[[T], Awaitable[None]]], Callable[[T], Awaitable[None]]]:
        """Enter the function below as a check of this suite. Two of one name are a ``ValueError``."""

        def enter(prove: Callable[[T], Awaitable[None]]) -> Callable[[T], Awaitable[None]]:
            entry = Check(prove, needs, claims)
            if entry.name in self._checks:
                raise ValueError(f"two checks of the suite {self.name!r} say {entry.name!r}")
            self._checks[entry.name] = entry
            return prove

        return enter

    def __iter__(self) -> Iterator[Check[T]]:
        return iter(self._checks.values())

    def __len__(self) -> int:
        return len(self._checks)

    def __getitem__(self, name: str) -> Check[T]:
        return self._checks[name]

    def __repr__(self) -> str:
        return f"Suite({self.name!r}, {len(self)} checks)"
