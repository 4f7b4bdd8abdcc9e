"""Many writes in one call: each as if it were made alone, with whatever fault comes next for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.model.errors import DispatchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch.spi.adapter import Backend, CallMeta, StartOrder


class ManyWrites:
    """``MultiWriter`` on top of the writes of one object."""

    async def start_many(
        self: Backend, orders: Sequence[StartOrder], meta: CallMeta
    ) -> list[str | DispatchError]:
        """Create each; see ``MultiWriter.start_many``."""
        made: list[str | DispatchError] = []
        for order in orders:
            try:
                made.append(await self.start(order, meta))
            except DispatchError as error:
                made.append(error)
        return made

    async def open_many(
        self: Backend, refs: Sequence[str], meta: CallMeta
    ) -> list[DispatchError | None]:
        """Open each; see ``MultiWriter.open_many``."""
        made: list[DispatchError | None] = []
        for ref in refs:
            try:
                await self.open(ref, meta)
                made.append(None)
            except DispatchError as error:
                made.append(error)
        return made
