"""Harnesses by adapter: ours, those that third parties register, and one that knows nothing but how to open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from importlib.metadata import entry_points
from typing import Any

from dispatch.conformance.harness import Harness, Timings
from dispatch.conformance.memory import MemoryHarness
from dispatch.conformance.slurm import SlurmHarness
from dispatch.spi.adapter import AdapterConfig, Backend
from dispatch.spi.registry import factory_named, load, open_backend, wrong

GROUP = "dispatch.conformance"
"""The entry point group under which an adapter's harness is registered, by the adapter's name."""

MakeHarness = Callable[[dict[str, Any]], Harness]
"""Decodes settings strictly, and opens nothing. Raises ``Invalid``."""

OURS: Mapping[str, MakeHarness] = {
    "memory": lambda settings: MemoryHarness(**settings),
    "slurm": SlurmHarness,
}


class PlainHarness(Harness):
    """Any adapter, opened with its settings; what needs a hand on the scheduler's side is skipped."""

    timings = Timings(
        wait=timedelta(minutes=2), quiet=timedelta(seconds=5), poll=timedelta(seconds=0.5)
    )

    def __init__(self, adapter: str, settings: dict[str, Any]) -> None:
        factory_named(adapter)
        self.adapter = adapter
        self._settings = settings

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the user gave."""
        return self._settings

    async def open(self, *, read_only: bool = False) -> Backend:
        """Open one more view."""
        config = AdapterConfig(
            adapter=self.adapter,
            alias="conformance",
            settings=self._settings,
            read_only=read_only,
        )
        return await open_backend(config)


def has_harness(adapter: str) -> bool:
    """Whether the adapter has a harness of its own, which decodes its settings without opening anything."""
    return adapter in OURS or bool(entry_points(group=GROUP, name=adapter))


def harness_named(adapter: str, settings: dict[str, Any]) -> Harness:
    """Make the harness of an adapter. Raises ``Invalid``: no such adapter, or every fault of the settings."""
    if adapter in OURS:
        return OURS[adapter](settings)
    for point in entry_points(group=GROUP, name=adapter):
        harness = load(point)(settings)
        if not isinstance(harness, Harness):
            raise wrong(point, f"it gives a {type(harness).__name__}, which is no Harness")
        return harness
    return PlainHarness(adapter, settings)
