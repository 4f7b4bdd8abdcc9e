"""The store suite: what every record store must do, whatever it is made of.

A check takes ``open_store``: each call of it opens the same records once more, and they begin empty. What is opened, the
check closes.
"""

from __future__ import annotations

from collections.abc import Callable

from dispatch.conformance.checks import Suite
from dispatch.spi.store import Store

OpenStore = Callable[[], Store]
STORE: Suite[OpenStore] = Suite("store")
check = STORE.check
