"""Short lives of one job in which nothing is left to chance, and strikes at chosen steps of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from dispatch.adapters.memory import Settings
from dispatch.model.answers import Action, Answer, Capability, Tristate
from dispatch.model.job import Job
from dispatch.model.policy import Backoff, Policy, Rule
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause

LENGTH = timedelta(minutes=12)
"""The faults of a scenario cease then; every bound of a write that was struck has passed."""


class Kind(StrEnum):
    """What strikes at a step."""

    DIE = "the process dies"
    LOST = "the reply is lost"
    LATE = "the call lands as late as it can, unheard"
    CRASH = "the controller crashes, and forgets its save window"
    PARTLY = "the controller crashes, and forgets starts alone"
    HANG = "the controller hangs, and goes on in reverse order"
    POWER = "the power fails"


@dataclass(frozen=True)
class Strike:
    """Something that strikes at the step of that number."""

    step: int
    kind: Kind

    def __str__(self) -> str:
        return f"{self.step}: {self.kind}"


@dataclass(frozen=True)
class Scenario:
    """One job's life: what its executions come to, each after so many seconds, and what its person asks for, and when.

    ``ends`` is how the job may end, whatever strikes. An execution beyond ``fates`` succeeds after 20 s.
    """

    name: str
    ends: frozenset[str] = frozenset({"Succeeded"})
    fates: tuple[tuple[float, str], ...] = ()
    asks: tuple[tuple[float, str], ...] = ()
    room_at: float = 0.0
    """Until then the cluster is full."""

    @property
    def job(self) -> Job:
        """The job: two more tries after what the infrastructure did, soon."""
        causes = (Cause.PREEMPTED, Cause.NODE_LOST, Cause.UNKNOWN)
        backoff = Backoff(initial=Duration(seconds=5), max=Duration(seconds=5), jitter=0)
        rule = Rule(when=causes, do=Action.RESUBMIT, limit=3, backoff=backoff)
        return Job(
            command=("train",), name="j1", key="j1", cluster="c", recovery=Policy(rules=(rule,))
        )

    @property
    def settings(self) -> Settings:
        """The cluster: the standard one, which keeps accounts."""
        return Settings(
            nodes=4,
            slurmd_timeout=Duration(seconds=40),
            capabilities={Capability.ACCOUNTING_HISTORY: Answer(value=Tristate.YES)},
        )

    def fate(self, serial: int) -> tuple[float, str]:
        """What the execution of that number comes to."""
        return self.fates[serial - 1] if serial <= len(self.fates) else (20.0, "succeeds")


SCENARIOS: dict[str, Scenario] = {
    one.name: one
    for one in (
        Scenario("a job succeeds"),
        Scenario("a job is preempted, and run again", fates=((30, "is preempted"),)),
        Scenario("a job loses its node, and is run again", fates=((30, "loses its node"),)),
        Scenario(
            "a job is stopped while it starts",
            ends=frozenset({"Cancelled Stopped", "Succeeded"}),
            asks=((1.4, "stop"),),
        ),
        Scenario(
            "a job is stopped while it runs",
            # A controller that forgets the stop finds the job missing, and nobody can say of what it died.
            ends=frozenset({"Cancelled Stopped", "Succeeded", "Failed Unknown"}),
            fates=((300, "succeeds"),),
            asks=((30, "stop"),),
        ),
        Scenario(
            "a job is stopped while it waits",
            ends=frozenset({"Cancelled Stopped", "Succeeded", "Failed Unknown"}),
            asks=((30, "stop"),),
            room_at=45.0,
        ),
        Scenario(
            "a job is held before it is opened, and released",
            asks=((0.1, "hold"), (90, "release")),
        ),
        Scenario(
            "a job is held while it waits, and stopped",
            ends=frozenset({"Cancelled Stopped", "Succeeded"}),
            asks=((1.2, "hold"), (90, "stop")),
        ),
    )
}
"""The scenarios that are enumerated, by name."""
