"""The embedded record store: one SQLite file on a local disk (docs/decisions/0010)."""

from dispatch.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
