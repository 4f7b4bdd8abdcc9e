"""The shipped store suite as plain functions, for tests that run it under conditions of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from dispatch.conformance.checks import Check as Shipped
from dispatch.conformance.store import STORE, OpenStore

Check = Callable[[OpenStore], None]


def plain(check: Shipped[OpenStore]) -> Check:
    """A check that runs to its end in a loop of its own, under its own name."""

    def run(open_store: OpenStore) -> None:
        async def prove() -> None:
            await check.prove(open_store)

        asyncio.run(prove())

    run.__name__ = check.name.replace(" ", "_")
    return run


CHECKS: list[Check] = [plain(check) for check in STORE]

__all__ = ["CHECKS", "Check", "OpenStore"]
