"""How a check of the store suite is written down."""

from __future__ import annotations

from collections.abc import Callable

from dispatch.spi.store import Store

OpenStore = Callable[[], Store]
Check = Callable[[OpenStore], None]

CHECKS: list[Check] = []


def check(function: Check) -> Check:
    """Add a check to the suite."""
    CHECKS.append(function)
    return function
