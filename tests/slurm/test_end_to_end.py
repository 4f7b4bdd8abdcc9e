"""From a job file to a supervised job on a real Slurm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dispatch.model.journal import Decided, Intended, Verb
from dispatch.model.status import Cause, State
from lab import Lab
from tests.slurm.site import Site

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


def test_an_exit_code_is_the_proven_cause(site: Site) -> None:
    job = site.submit("sh", "-c", "exit 3")
    view = site.end(job)
    assert view.verdict is not None
    assert (view.verdict.state, view.verdict.cause) == (State.FAILED, Cause.NON_ZERO_EXIT)
    assert view.verdict.detail.exit_code == 3
    assert view.verdict.proven
    assert view.verdict.evidence


def test_a_preempted_job_is_resubmitted_by_rule(site: Site) -> None:
    recovery = {
        "rules": [
            {
                "when": ["Preempted"],
                "do": "resubmit",
                "limit": 3,
                "backoff": {"initial": "1s", "max": "1s"},
            }
        ]
    }
    job = site.submit("sleep", "300", nodes=2, partition="lowc", exclusive=True, recovery=recovery)
    site.running(job)
    usurper = site.lab.text(
        "bob", "sbatch", "--parsable", "-p", "high", "-N", "4", "--exclusive", "--wrap", "sleep 5"
    ).strip()
    assert usurper
    site.running(job, 2, 90)
    (decided,) = site.events(job, Decided)
    assert decided.verdict.cause is Cause.PREEMPTED
    site.system.ask_stop(job)
    view = site.end(job)
    assert view.verdict is not None
    assert view.verdict.cause is Cause.STOPPED
