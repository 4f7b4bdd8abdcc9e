"""From a job file to a supervised job on a real Slurm."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dispatch.core.explaining import explain
from dispatch.model.journal import Ceased, Decided, HoldAsked, Intended, Verb
from dispatch.model.policy import Budget
from dispatch.model.status import Cause, Source, State
from dispatch.model.view import JobView, Phase
from lab import Lab
from slurm.site import Site

pytestmark = pytest.mark.slurm


@pytest.fixture
def site(lab: Lab, tmp_path: Path) -> Iterator[Site]:
    site = Site(lab, tmp_path)
    yield site
    site.close()


SHOW = (
    "sh",
    "-c",
    'echo "node=$SLURMD_NODENAME rank=$RANK world=$WORLD_SIZE epoch=$DISPATCH_EPOCH attempt=$DISPATCH_ATTEMPT"',
)


def test_a_job_on_two_nodes_succeeds_and_its_tasks_know_who_they_are(site: Site) -> None:
    job = site.submit(*SHOW, nodes=2, launcher="srun")
    view = site.end(job)
    assert view.verdict is not None
    assert (view.verdict.state, view.verdict.cause) == (State.SUCCEEDED, None)
    lines = sorted(line for line in site.output(job).splitlines() if line.startswith("node="))
    said = [dict(part.split("=", 1) for part in line.split()) for line in lines]
    assert len(said) == 2
    assert len({one["node"] for one in said}) == 2
    assert {one["rank"] for one in said} == {"0", "1"}
    assert {one["world"] for one in said} == {"2"}
    assert {one["epoch"] for one in said} == {"1000000"}
    assert len({one["attempt"] for one in said}) == 1
    assert said[0]["attempt"]
    verbs = [event.intent.verb for event in site.events(job, Intended)]
    assert verbs == [Verb.START, Verb.OPEN]


def test_a_second_launch_of_an_epoch_is_fenced_and_the_job_goes_on_uncharged(site: Site) -> None:
    job = site.submit("true")
    site.turn(job)  # its start
    current = site.system.view(job).current
    assert current is not None
    assert current.phase is Phase.GATED
    # By hand: the ticket of a launch that a controller which crashed would have made before this one.
    ticket = (
        f"mkdir -p ~/.dispatch/runs/{job}; printf 'epoch=1000000\\nattempt={current.attempt}\\n"
        f"jobid=1\\nnode=n4\\nnodes=n4\\nrestarts=0\\nstarted=1\\n' > ~/.dispatch/runs/{job}/1000000.start"
    )
    site.lab.text("alice", "sh", "-c", ticket)
    # Its open. A read before Slurm has launched it would tell of a start that was forgotten.
    site.turn(job)
    end = time.monotonic() + 60
    while not site.squeue(job)[0].endswith((" FAILED", " COMPLETED")):
        assert time.monotonic() < end, site.squeue(job)
        time.sleep(0.1)
    view = site.end(job)
    (decided,) = site.events(job, Decided)
    assert decided.verdict.cause is Cause.FENCED
    assert decided.budget is None
    assert any(fact.source is Source.TICKET for fact in decided.verdict.evidence)
    assert view.verdict is not None
    assert view.verdict.state is State.SUCCEEDED
    assert list(view.objects) == [1, 2]


@pytest.mark.parametrize("partition", ["lowc", "low"])
def test_a_job_preempted_by_cancelling_or_requeueing_is_resubmitted_by_rule(
    site: Site, partition: str
) -> None:
    rule = {
        "when": ["Preempted"],
        "do": "resubmit",
        "limit": 3,
        "backoff": {"initial": "1s", "max": "1s"},
    }
    job = site.submit(
        *LONG, nodes=2, partition=partition, exclusive=True, recovery={"rules": [rule]}
    )
    site.running(job)
    site.lab.text(
        "bob", "sbatch", "--parsable", "-p", "high", "-N", "4", "--exclusive", "--wrap", "sleep 2"
    )
    site.running(job, 2, 90)
    (decided,) = site.events(job, Decided)
    assert decided.verdict.cause is Cause.PREEMPTED
    assert decided.budget is Budget.INFRASTRUCTURE
    assert no_start_before_cessation(site, job)
    site.until(job, lambda _: "epoch=2000000" in site.output(job, 2))
    assert "epoch=1000000" in site.output(job, 1)
    site.system.ask_stop(job)
    view = site.end(job)
    assert view.verdict is not None
    assert (view.verdict.state, view.verdict.cause) == (State.CANCELLED, Cause.STOPPED)
    assert site.squeue(job) == [
        f"{site.slurm_id(job)} PREEMPTED",
        f"{site.slurm_id(job, 2)} CANCELLED",
    ]


LONG = ("sh", "-c", "echo epoch=$DISPATCH_EPOCH on $SLURMD_NODENAME; exec sleep 600")


def no_start_before_cessation(site: Site, job: str) -> bool:
    """Whether each further start was intended only after the execution before it was recorded as ceased."""
    order = [
        "ceased" if isinstance(event, Ceased) else "start"
        for event in site.events(job, Intended, Ceased)
        if isinstance(event, Ceased) or event.intent.verb is Verb.START
    ]
    return order == ["start", *(["ceased", "start"] * (len(order) // 2))]


def test_a_hold_keeps_a_pending_job_until_its_release(site: Site) -> None:
    job = site.submit("true", partition="downp")
    site.until(job, lambda view: bool(view.current and view.current.phase is Phase.OPEN))
    site.system.ask_hold(job, "the data is not there yet")
    site.until(
        job, lambda view: bool(view.current and view.current.seen and view.current.seen.hold)
    )
    explanation = explain(site.system.view(job))
    assert (explanation.state, explanation.cause) == (State.PENDING, Cause.HELD)
    site.system.ask_release(job)
    site.until(
        job, lambda view: bool(view.current and view.current.seen and not view.current.seen.hold)
    )
    site.until(job, lambda view: explain(view).cause is Cause.NO_CAPACITY)
    site.system.ask_stop(job)
    site.end(job)


@pytest.mark.parametrize(("who", "cause"), [("alice", Cause.HELD), ("root", Cause.ADMIN_HELD)])
def test_a_hold_of_others_is_told_apart_and_never_lifted(
    site: Site, who: str, cause: Cause
) -> None:
    job = site.submit("true", partition="downp")
    site.until(job, lambda view: bool(view.current and view.current.phase is Phase.OPEN))
    site.lab.text(who, "scontrol", "hold", site.slurm_id(job))
    site.until(job, lambda view: explain(view).cause is cause)
    assert site.events(job, HoldAsked) == []
    verbs = [event.intent.verb for event in site.events(job, Intended)]
    assert Verb.RELEASE not in verbs
    site.system.ask_stop(job)
    site.end(job)


def test_a_release_of_everything_by_a_person_opens_no_gate(site: Site) -> None:
    job = site.submit("true")
    site.turn(job)
    number = site.slurm_id(job)
    site.lab.text("alice", "scontrol", "release", number)
    time.sleep(3)
    assert site.squeue(job) == [f"{number} PENDING"]
    view = site.end(job)
    assert view.verdict is not None
    assert view.verdict.state is State.SUCCEEDED


def waits_for(cause: Cause) -> Callable[[JobView], bool]:
    return lambda view: explain(view).cause is cause


def test_a_job_that_waits_says_why(site: Site) -> None:
    never = site.submit("true", nodes=2, partition="short", timeLimit="2m")
    down = site.submit("true", partition="downp")
    for job, cause in ((never, Cause.UNSATISFIABLE), (down, Cause.NO_CAPACITY)):
        explanation = explain(site.until(job, waits_for(cause)))
        assert explanation.state is State.PENDING
        assert any("state_reason" in line for line in explanation.why)
        site.system.ask_stop(job)
        site.end(job)
