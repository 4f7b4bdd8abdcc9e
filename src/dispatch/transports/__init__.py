"""The ways to a host where a scheduler's commands run."""

from dispatch.transports.local import LocalTransport

__all__ = ["LocalTransport"]
