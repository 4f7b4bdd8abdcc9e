"""Rules of the protocol that no mutant here breaks, each with the reason."""

from __future__ import annotations

UNSHOWN: dict[str, str] = {
    "R4": "In this world no answer comes after two reads have settled a write: its caller gives up before. The fold's own tests "
    "show it.",
    "T3": "Nothing commits at a distance: the records are on one disk.",
    "B2": "The memory scheduler's own restarts are excused, since they are not ours; the plan never asks for them.",
    "B3": "dispatch never requeues.",
    "B4": "The memory scheduler keeps the base in the object, as Slurm keeps it in the comment; nothing reads a submit time.",
    "B5": "It is the Kubernetes adapter's.",
    "P1": "It is the Slurm adapter's.",
    "P2": "It is the Slurm adapter's.",
    "P3": "It is the Slurm adapter's.",
    "P4": "Random policies ask for no suspicion.",
    "P5": "Nobody supervises once.",
}
"""By rule, why it is not shown."""
