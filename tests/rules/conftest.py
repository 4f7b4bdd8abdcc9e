"""What the tests of the rules borrow."""

from __future__ import annotations

from shell.conftest import world, worlds

__all__ = ["world", "worlds"]
