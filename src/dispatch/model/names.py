"""Texts of a fixed alphabet: what names may be, wherever a job or a policy has one."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

RESERVED_PREFIX = "DISPATCH_"

Name = Annotated[
    str,
    Meta(
        pattern=r"^[^\x00-\x1f\x7f]{1,128}\Z",
        description="1 to 128 characters, none of them a control character",
    ),
]
EnvName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*\Z",
        description="letters, digits and _, not starting with a digit",
    ),
]
Word = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.,:@/+&|*()\[\]=!-]{0,255}\Z",
        description="a scheduler's name: at most 256 characters, no spaces, quotes or control characters",
    ),
]
SignalName = Annotated[
    str,
    Meta(pattern=r"^[A-Z][A-Z0-9+]{1,9}\Z", description="a signal's name without SIG"),
]


def is_reserved(name: str) -> bool:
    """Tell whether a variable of that name is ours: those that a job is given, and in small letters its script's own."""
    return name.upper().startswith(RESERVED_PREFIX)
