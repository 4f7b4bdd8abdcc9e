"""Typical lives of a job on the memory scheduler, each told once to be recorded; see ``recipe``."""

from __future__ import annotations

from histories.ordinary import ORDINARY, Life
from histories.troubled import TROUBLED

__all__ = ["LIVES", "Life"]

LIVES = (*ORDINARY, *TROUBLED)
