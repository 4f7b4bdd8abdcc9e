"""Numbers that look random and are the same everywhere.

Each task draws from a sequence of its own, named by where it was born: its parent, and how many siblings were before it.
So a task more in one corner of a program changes none of the numbers that the others draw, and a seed keeps much of its
meaning while a program is being mended. One generator for all would move every later choice, and with it also whatever
asyncio does one callback more for in another version of Python.
"""

from __future__ import annotations

_BITS = 0xFFFF_FFFF_FFFF_FFFF


def mix(number: int) -> int:
    """Scramble 64 bits: the finalizer of splitmix64 (Steele, Lea and Flood, 2014)."""
    number = (number + 0x9E37_79B9_7F4A_7C15) & _BITS
    number = ((number ^ (number >> 30)) * 0xBF58_476D_1CE4_E5B9) & _BITS
    number = ((number ^ (number >> 27)) * 0x94D0_49BB_1331_11EB) & _BITS
    return number ^ (number >> 31)


def child(identity: int, index: int) -> int:
    """Return the identity of the child number ``index`` of ``identity``."""
    return mix(identity ^ mix(index))
