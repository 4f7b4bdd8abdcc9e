"""Garbage in cycles, collected at steps of the program's own.

The interpreter collects it whenever enough has been allocated, by this program or by what ran before it, and with that runs
finalizers: a generator is closed, an error that nobody looked at is reported. So it is held back, and done at fixed steps.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

EVERY = 20_000
"""After how many steps garbage is collected."""


@contextmanager
def held() -> Generator[None]:
    """Collect nothing by itself inside, and nothing that is older than this: that is none of this program's."""
    ours = gc.isenabled() and gc.get_freeze_count() == 0
    if ours:
        gc.disable()
        gc.freeze()
    try:
        yield
    finally:
        if ours:
            gc.unfreeze()
            gc.enable()


def collect() -> None:
    """Collect all garbage now."""
    gc.collect()
