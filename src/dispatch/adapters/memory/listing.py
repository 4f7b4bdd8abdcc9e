"""What lives under the account of a memory world, by one listing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.adapters.memory.records import Stage
from dispatch.spi.adapter import Living

if TYPE_CHECKING:
    from dispatch.adapters.memory.world import World


def living_in(world: World) -> tuple[Living, ...]:
    """Every object that the queue shows and that has not ended."""
    return tuple(
        Living(ref=world.shape.ref(item), job=item.key.job, store=item.key.store)
        for items in world.by_job.values()
        for item in items
        if world.visible(item) and item.record.name is None and item.record.stage is not Stage.ENDED
    )
