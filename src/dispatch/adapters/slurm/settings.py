"""The settings of the Slurm adapter, strictly decoded."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from dispatch.adapters.slurm.reading import TICKETS_DIRECTORY
from dispatch.model.base import Value
from dispatch.model.documents import decode_document
from dispatch.model.errors import Fault, Invalid
from dispatch.model.quantity import Duration

_SHARED = re.compile(r"(?:/|~/|\$HOME/)[^\x00-\x1f\x7f]+")


class TransportKind(StrEnum):
    """How the cluster's commands are reached."""

    LOCAL = "local"


_JOINING = frozenset({"ssh", "rsh", "mosh", "su"})
"""Commands that join their arguments to one line, which a shell then takes apart again: nothing would be quoted."""


class TransportSettings(Value):
    """The way to the host that has Slurm's commands; ``through`` is a command that runs its arguments there."""

    kind: TransportKind = TransportKind.LOCAL
    through: tuple[Annotated[str, Meta(min_length=1, description="non-empty text")], ...] = ()

    def __post_init__(self) -> None:
        if self.through and self.through[0].rpartition("/")[2] in _JOINING:
            allowed = (
                "a command that runs its arguments as they are, such as sudo or a wrapper script"
            )
            fault = Fault(path="through[0]", found=repr(self.through[0]), allowed=allowed)
            raise Invalid("The transport is wrong.", faults=(fault,))


class Settings(Value):
    """How to reach and use one cluster. Everything is optional."""

    transport: TransportSettings = TransportSettings()
    shared_dir: str = TICKETS_DIRECTORY
    """Where each execution records its start: a directory that the login host and every node can write (12, O4)."""
    call_window: Duration = Duration(seconds=30)
    """How long after its intent a write may still begin."""
    save_window: Duration = Duration(seconds=30)
    """How long the controller may forget what it acknowledged: it saves its state every 5 s or so."""
    kill_margin: Duration = Duration(seconds=10)
    """Beyond KillWait: until a node that registered again has killed what it should not run."""

    def __post_init__(self) -> None:
        if not _SHARED.fullmatch(self.shared_dir):
            allowed = "an absolute path, or one that begins with ~/ or $HOME/"
            fault = Fault(path="sharedDir", found=repr(self.shared_dir), allowed=allowed)
            raise Invalid("The settings are wrong.", faults=(fault,))


def decode_settings(document: object) -> Settings:
    """Decode settings from plain data; ``Invalid`` has every fault with its path."""
    return decode_document(document, Settings, where="The settings of the Slurm adapter")
