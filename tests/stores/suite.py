"""What every record store must do, whatever it is made of: one check a function, and its name says what holds.

A check takes ``open_store``: each call of it opens the same records once more, and they begin empty. What is opened, the
check closes.
"""

from __future__ import annotations

from stores import suite_questions, suite_records
from stores.checking import CHECKS, Check, OpenStore

__all__ = ["CHECKS", "Check", "OpenStore", "suite_questions", "suite_records"]
