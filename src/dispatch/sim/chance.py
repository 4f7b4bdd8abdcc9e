"""Chance by name: every decision of a simulation draws from a stream of its own.

A stream depends on the seed and on its name alone, so a fault that is left out, or a call more in one corner, moves none of
the decisions elsewhere. That is what lets a failing seed be shrunk, and keeps much of its meaning while code changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

from dispatch.testing.loop.mixing import mix

T = TypeVar("T")
_SCALE = 1 / 2**64


class Stream:
    """The numbers of one decision."""

    __slots__ = ("_state",)

    def __init__(self, state: int) -> None:
        self._state = state

    def unit(self) -> float:
        """Draw from [0, 1)."""
        self._state = state = mix(self._state)
        return state * _SCALE

    def happens(self, probability: float) -> bool:
        """Draw whether something happens that does so with this probability."""
        return self.unit() < probability

    def between(self, low: float, high: float) -> float:
        """Draw evenly from [low, high)."""
        return low + (high - low) * self.unit()

    def whole(self, low: int, high: int) -> int:
        """Draw evenly a whole number from low to high, both included."""
        return low + int(self.unit() * (high - low + 1))

    def waiting(self, mean: float) -> float:
        """Draw a wait with this mean, from the exponential distribution, at most ten times as long."""
        return min(-math.log(1 - self.unit()), 10) * mean

    def pick(self, among: Sequence[T]) -> T:
        """Draw one of several, evenly."""
        return among[int(self.unit() * len(among))]

    def weighed(self, among: Sequence[tuple[T, float]]) -> T:
        """Draw one of several by their weights."""
        total = 0.0  # not by sum(), which rounds otherwise from Python 3.12 on
        for _, weight in among:
            total += weight
        left = self.unit() * total
        for one, weight in among:
            left -= weight
            if left < 0:
                return one
        return among[-1][0]

    def some(self, among: Sequence[T], count: int) -> tuple[T, ...]:
        """Draw several different ones, in an order of chance."""
        left = list(among)
        return tuple(left.pop(int(self.unit() * len(left))) for _ in range(min(count, len(left))))

    def data(self, count: int) -> bytes:
        """Draw so many bytes."""
        words = (int(self.unit() * 2**32).to_bytes(4, "big") for _ in range(-(-count // 4)))
        return b"".join(words)[:count]


class Chance:
    """The streams of one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def stream(self, name: str) -> Stream:
        """The stream of that name, from its beginning."""
        digest = blake2b(f"{self.seed}/{name}".encode(), digest_size=8).digest()
        return Stream(int.from_bytes(digest, "big"))
