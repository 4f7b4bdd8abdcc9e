"""Durations and sizes: text on the wire, exact integers inside."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Self

_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_PART = re.compile(r"([0-9]+)(ms|s|m|h|d)")
_WHOLE = re.compile(r"(?:[0-9]+(?:ms|s|m|h|d))+")
_SLURM = re.compile(r"(?:([0-9]+)-)?([0-9]+):([0-5]?[0-9]):([0-5]?[0-9])")
_LONGEST_MS = 10_000 * _UNIT_MS["d"]


class Duration(timedelta):
    """A length of time in whole milliseconds, never negative: ``90s``, ``1h30m``, ``7d``.

    It is a ``timedelta``, so it adds to a ``datetime``; ``str`` gives the shortest canonical text.
    """

    ALLOWED = "a duration such as 90s, 30m, 1h30m or 7d"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a duration from its text; ``ValueError`` says what is allowed."""
        if not _WHOLE.fullmatch(text):
            raise ValueError(cls.ALLOWED)
        return cls.of_ms(sum(int(count) * _UNIT_MS[unit] for count, unit in _PART.findall(text)))

    @classmethod
    def of_ms(cls, milliseconds: int) -> Self:
        """Make a duration of so many milliseconds, at most 10 000 days."""
        if not 0 <= milliseconds <= _LONGEST_MS:
            raise ValueError("a duration between 0s and 10000d")
        return cls(milliseconds=milliseconds)

    @property
    def ms(self) -> int:
        """The length in milliseconds."""
        return self // timedelta(milliseconds=1)

    def __str__(self) -> str:
        rest, text = self.ms, ""
        for unit in ("d", "h", "m", "s", "ms"):
            count, rest = divmod(rest, _UNIT_MS[unit])
            text += f"{count}{unit}" if count else ""
        return text or "0s"

    def __repr__(self) -> str:
        return f"Duration({str(self)!r})"


class TimeLimit(Duration):
    """A duration that may also be written as Slurm writes it: ``1-00:00:00``, ``12:30:00``."""

    ALLOWED = "a duration such as 90s, 24h or 7d, or Slurm's 1-00:00:00"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a time limit in either form; ``ValueError`` says what is allowed."""
        if match := _SLURM.fullmatch(text):
            days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
            return cls.of_ms((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000)
        return super().parse(text)


_SIZE = re.compile(r"([0-9]+)([KMGT]i?)")
_SIZE_BYTES = {
    "K": 1_000, "M": 1_000**2, "G": 1_000**3, "T": 1_000**4,
    "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
}  # fmt: skip


class Size(int):
    """An amount of memory in bytes: ``200G`` (powers of 1000) or ``512Mi`` (powers of 1024)."""

    ALLOWED = "a size such as 200G (10^9 bytes) or 512Mi (2^20 bytes)"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a size from its text; ``ValueError`` says what is allowed."""
        match = _SIZE.fullmatch(text)
        if not match or not (size := int(match[1]) * _SIZE_BYTES[match[2]]):
            raise ValueError(cls.ALLOWED)
        return cls(size)

    def __str__(self) -> str:
        units = sorted(_SIZE_BYTES.items(), key=lambda item: -item[1])
        unit, scale = next((u, s) for u, s in [*units, ("", 1)] if self % s == 0)
        # A size that no unit divides arises by a percentage of another; it is rounded up to whole Ki.
        return f"{self // scale}{unit}" if unit else f"{-(-self // 1024)}Ki"

    def __repr__(self) -> str:
        return f"Size({str(self)!r})"
