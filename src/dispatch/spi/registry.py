"""Adapters by name: ours and third parties' alike are entry points of the group ``dispatch.adapters``."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import cast

from dispatch.model.errors import Invalid
from dispatch.spi.adapter import AdapterConfig, Backend, Factory

GROUP = "dispatch.adapters"


def adapter_names() -> tuple[str, ...]:
    """The names of the adapters that are installed."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def factory_named(name: str) -> Factory:
    """Load the factory of an adapter; ``Invalid`` lists those that are installed."""
    for point in entry_points(group=GROUP, name=name):
        return cast("Factory", point.load())
    known = ", ".join(adapter_names()) or "none"
    raise Invalid(
        f"There is no adapter {name!r}.",
        todo=f"Installed adapters: {known}. Correct `adapter` in the configuration.",
    )


async def open_backend(config: AdapterConfig) -> Backend:
    """Find the factory by name, and open the backend with its settings strictly decoded and its preflight run."""
    return await factory_named(config.adapter)(config)
