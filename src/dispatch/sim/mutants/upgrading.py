"""Mutants of the peace between an older dispatch and a newer one on the same records."""

from __future__ import annotations

from collections.abc import Sequence

from dispatch.shell.ledger import Ledger
from dispatch.sim import climates
from dispatch.sim.mutants.mutant import Mutant, Swap, constant
from dispatch.sim.upgrading import Handle
from dispatch.spi.store import Turn


def _reschedule_all(self: Ledger, turns: Sequence[Turn]) -> None:
    self.store.reschedule_all(turns)


MUTANTS = (
    Mutant(
        "a newer writer's events are taken for one's own", "T4",
        "An older dispatch that reads on does what the newer one has forbidden in words that it does not know.",
        (Swap(Handle, "_refuse_newer", constant(None)),), 20, climates.UPGRADED,
    ),
    Mutant(
        "a newer writer's job is put off", "T4",
        "The older one cannot work on it, and lets the newer one sleep over what is due.",
        (Swap(Ledger, "reschedule_all", _reschedule_all),), 20, climates.UPGRADED,
    ),
)  # fmt: skip
