"""Adapters by name: ours and third parties' alike are entry points of the group ``dispatch.adapters``."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from inspect import isawaitable
from typing import Any, cast

from dispatch.model.errors import DispatchError, Invalid
from dispatch.spi.adapter import AdapterConfig, Backend, Factory

GROUP = "dispatch.adapters"
_BASE = (
    *("identity", "answers", "declarations"),
    *("start", "open", "stop", "find", "inspect", "close"),
)


def adapter_names() -> tuple[str, ...]:
    """The names of the adapters that are installed."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def factory_named(name: str) -> Factory:
    """Load the factory of an adapter; ``Invalid`` lists those that are installed, or says what is wrong with this one."""
    for point in entry_points(group=GROUP, name=name):
        return cast("Factory", load(point))
    known = ", ".join(adapter_names()) or "none"
    raise Invalid(
        f"There is no adapter {name!r}.",
        todo=f"Installed adapters: {known}. Take one of them, or install the package that has {name!r} "
        f"as an entry point of the group `{GROUP}`.",
    )


def load(point: EntryPoint) -> Any:
    """Load what an entry point names. Raises ``Invalid``: it cannot be imported, or called."""
    try:
        found = point.load()
    except Exception as error:  # as it is imported, a module of a third party may raise anything
        raise wrong(point, f"{type(error).__name__}: {error}") from error
    if not callable(found):
        raise wrong(point, f"it is of type {type(found).__name__}, which cannot be called")
    return found


def wrong(point: EntryPoint, why: str) -> Invalid:
    """The error for an entry point that does not keep its promise: who registered it, and what is wrong."""
    whose = f" of the package {point.dist.name}" if point.dist else ""
    return Invalid(
        f"The entry point {point.name!r} of the group `{point.group}` cannot be used: {point.value}{whose}: {why}.",
        todo="Correct it in that package, and install the package again.",
    )


async def open_backend(config: AdapterConfig) -> Backend:
    """Find the factory by name, and open the backend with its settings strictly decoded and its preflight run.

    Raises ``Invalid`` for settings or a factory that are wrong, and what the factory raises.
    """
    opening: Any = factory_named(config.adapter)(config)
    if not isawaitable(opening):
        raise _misfit(config.adapter, "it is no `async def`")
    try:
        backend: Backend = await opening
    except DispatchError:
        raise
    except Exception as error:
        error.add_note(f"It was raised by the adapter {config.adapter} as it was opened.")
        raise
    if missing := [name for name in _BASE if not hasattr(backend, name)]:
        kind = type(backend).__name__
        raise _misfit(config.adapter, f"it gives a {kind}, which lacks {', '.join(missing)}")
    return backend


def _misfit(adapter: str, why: str) -> Invalid:
    (point, *_) = entry_points(group=GROUP, name=adapter)
    return wrong(point, why)
