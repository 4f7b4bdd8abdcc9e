"""The settings of the memory adapter, strictly decoded."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta

from dispatch.adapters.memory.answers import rules_of
from dispatch.model.answers import Action, Answer, Capability
from dispatch.model.base import Value
from dispatch.model.documents import decode_document
from dispatch.model.errors import Fault, Invalid
from dispatch.model.quantity import Duration


class ShapeName(StrEnum):
    """Which scheduler the world behaves like."""

    SLURM = "slurm"
    KUBEFLOW = "kubeflow"


class Relaunch(StrEnum):
    """What Slurm does by itself with a start that its controller forgot (12, O4)."""

    NONE = "none"
    SAME_NODES = "sameNodes"
    """It launches again on the same nodes, which refuse what they have killed already."""
    OTHER_NODES = "otherNodes"
    """It launches on other nodes, while the first execution still lives."""


class FixedCessation(Value):
    """What the cessation signal says of every node, whatever the truth."""

    ceased: bool
    detail: str = ""


Positive = Annotated[int, Meta(ge=1)]


class Settings(Value):
    """How the world behaves and what the backend says of itself. Everything is optional."""

    shape: ShapeName = ShapeName.SLURM
    cluster_name: str = "memory"
    """The name that the cluster gives itself."""
    max_job_id: Positive = 67_043_328
    """Job ids wrap after it, to the lowest that is free."""
    min_job_age: Duration = Duration(minutes=5)
    """How long the queue shows an object after its end."""
    call_bound: Duration = Duration(seconds=25)
    call_window: Duration = Duration(seconds=30)
    slurmd_timeout: Duration = Duration(minutes=5)
    """How long a node is silent before the controller gives it up."""
    kill_wait: Duration = Duration(seconds=30)
    """What is declared: the time from a node's registration until it has killed what it should not run."""
    kill_delay: Duration = Duration(seconds=4)
    """What is true: how long after its registration a node kills what it should not run; at most ``kill_wait``."""
    cleaning_time: Duration = Duration()
    """How long the nodes take to clean up after an end; what was killed lives until then."""
    evidence_window: Duration | None = None
    """How long Kubeflow's pods tell why they ended, and what is declared; by default ``min_job_age``."""
    save_window: Duration = Duration(seconds=30)
    """The time within which a crash can make the controller forget what it acknowledged."""
    clock_skew: Duration = Duration(seconds=2)
    watch_buffer: Positive = 64
    nodes: Annotated[int, Meta(ge=1, le=10_000)] = 64
    """How many nodes there are: ``n1``, ``n2``, ..."""
    capacity: Annotated[int, Meta(ge=0)] | None = None
    """How many objects may run at once; by default as many as the nodes hold."""
    revival: bool = False
    """Objects are created with the requeue bit set, so Slurm itself runs them again after preemption and node loss."""
    revive_ended: bool = True
    """Our requeue revives an ended object whatever its requeue bit; ``False``, as measured: only where it ended with the bit set."""
    submit_time_moves: bool = False
    """A requeue sets the submit time anew, as measured; by default an object keeps the one it has."""
    requeue_delay: Duration = Duration(seconds=121)
    """How long what the scheduler itself or another person requeued waits before it may start."""
    relaunch: Relaunch = Relaunch.SAME_NODES
    fence: bool = True
    """The job script takes the start ticket; ``False`` shows what that prevents."""
    capabilities: dict[Capability, Answer] = {}
    rules: dict[Action, Answer] = {}
    native: dict[Action, Answer] = {}
    cessation: FixedCessation | None = None

    def __post_init__(self) -> None:
        rules = rules_of(self)
        faults = [
            Fault(
                path=f"native.{action}",
                found="yes",
                allowed=f"yes only where rules.{action} is yes",
            )
            for action, answer in self.native.items()
            if answer.yes and not rules[action].yes
        ]
        if self.kill_delay > self.kill_wait:
            allowed = f"at most killWait, {self.kill_wait}"
            faults.append(Fault(path="killDelay", found=str(self.kill_delay), allowed=allowed))
        if faults:
            raise Invalid("The settings of the memory adapter are wrong.", faults=tuple(faults))


def decode_settings(document: object) -> Settings:
    """Decode settings from plain data, or from JSON text; ``Invalid`` has every fault with its path."""
    if isinstance(document, str | bytes):
        document = _parse(document)
    return decode_document(document, Settings, where="The settings of the memory adapter")


def _parse(text: str | bytes) -> object:
    """Parse JSON; a key that stands twice, or anything after the document, is a fault."""
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except ValueError as error:  # JSONDecodeError and UnicodeDecodeError are such
        fault = Fault(
            path="the document", found=str(error), allowed="one JSON object and nothing after it"
        )
        raise Invalid("The settings of the memory adapter are no JSON.", faults=(fault,)) from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"the key {twice[0]!r} twice")
    return dict(pairs)
