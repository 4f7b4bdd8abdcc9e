"""The record store for file systems that several hosts share: files and hard links (docs/decisions/0011)."""

from dispatch.stores.directory.store import DirectoryStore

__all__ = ["DirectoryStore"]
