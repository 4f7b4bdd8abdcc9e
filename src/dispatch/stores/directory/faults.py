"""What the operating system says, in words that a person can act on."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dispatch.model.errors import StoreError
from dispatch.stores.sqlite import faults

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE})


@contextmanager
def explaining(doing: str, root: Path) -> Generator[None]:
    """Turn an ``OSError`` into a ``StoreError``."""
    try:
        yield
    except OSError as error:
        if doing != "open" and error.errno in _GONE:
            raise vanished(
                root, f"Cannot {doing}: ", f" ({error.strerror}: {error.filename})"
            ) from error
        raise faults.of_system(error, doing, root) from error


def vanished(root: Path, doing: str = "", why: str = "") -> StoreError:
    """The error for a store that is no longer what was opened."""
    return StoreError(
        f"{doing}The records {root} were deleted, moved or replaced while they were open{why}; nothing was half written.",
        todo="Put them back if that was a mistake, then start dispatch again.",
    )
