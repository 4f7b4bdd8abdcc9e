"""Slurm's short form of node names: ``n[1-4,7],gpu[01-03]``."""

from __future__ import annotations

import itertools
import re

MOST = 100_000
"""More names than any cluster has; a longer list is left as it is."""

_PART = re.compile(r"[^,\[\]]+|\[[^\[\]]*\]|,")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def expand(text: str) -> tuple[str, ...]:
    """List the names that a host list stands for, in its order; what is no host list is returned as one name."""
    whole: list[str] = []
    pieces: list[str] = _PART.findall(text)
    current = [[""]]
    if "".join(pieces) != text:
        return (text,)
    for piece in [*pieces, ","]:
        if piece == ",":
            names = list(_product(current))
            if len(whole) + len(names) > MOST:
                return (text,)
            whole += [name for name in names if name]
            current = [[""]]
        else:
            numbers = _numbers(piece[1:-1]) if piece.startswith("[") else [piece]
            if numbers is None:
                return (text,)
            current.append(numbers)
    return tuple(dict.fromkeys(whole))


def _product(parts: list[list[str]]) -> list[str]:
    size = 1
    for part in parts:
        size *= len(part)
    return (
        ["".join(choice) for choice in itertools.product(*parts)]
        if size <= MOST
        else [""] * (MOST + 1)
    )


def _numbers(text: str) -> list[str] | None:
    found: list[str] = []
    for part in text.split(","):
        bounds = _RANGE.fullmatch(part)
        if bounds is None:
            return None
        first, last = bounds[1], bounds[2] or bounds[1]
        if int(last) - int(first) >= MOST:
            return None
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return found
