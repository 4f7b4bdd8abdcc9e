"""Every way in which a job ends on a real Slurm: state, cause and evidence, with accounting and without it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from dispatch.model.answers import Action
from dispatch.model.journal import Decided
from dispatch.model.status import By, Cause, Source, State, Verdict
from lab import Lab, why_no_cgroups
from slurm.site import Site

pytestmark = pytest.mark.slurm

ONCE_MORE = {
    "rules": [
        {
            "when": ["NonZeroExit", "Signalled", "LaunchFailed"],
            "do": "resubmit",
            "limit": 1,
            "backoff": {"initial": "1s", "max": "1s", "jitter": 0},
        }
    ]
}


@dataclass(frozen=True)
class Case:
    """One job, what is done to it while it runs, and how it must end."""

    command: tuple[str, ...]
    state: State
    cause: Cause | None
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    cancelled_by: str = ""
    exit_code: int | None = None
    signal: str | None = None
    by: By | None = None
    """Who cancelled it, which only accounting tells."""
    executions: int = 1


EAT = "x=x; while :; do x=$x$x; done"
CASES = {
    "success": Case(("true",), State.SUCCEEDED, None),
    "exit code": Case(("sh", "-c", "exit 3"), State.FAILED, Cause.NON_ZERO_EXIT, exit_code=3),
    "exit code, tried once more": Case(
        ("sh", "-c", "exit 4"),
        State.FAILED,
        Cause.NON_ZERO_EXIT,
        {"recovery": ONCE_MORE},
        exit_code=4,
        executions=2,
    ),
    "signal": Case(("sh", "-c", "kill -SEGV $$"), State.FAILED, Cause.SIGNALLED, signal="SEGV"),
    "time limit": Case(("sleep", "300"), State.FAILED, Cause.TIMEOUT, {"timeLimit": "1m"}),
    "out of memory": Case(
        ("bash", "-c", EAT), State.FAILED, Cause.OUT_OF_MEMORY, {"memory": "60M"}
    ),
    "unknown partition": Case(
        ("true",), State.FAILED, Cause.REJECTED, {"partition": "nosuch"}, executions=0
    ),
    "missing working directory": Case(
        ("true",), State.FAILED, Cause.REJECTED, {"workdir": "/nowhere/at/all"}, executions=0
    ),
    "missing working directory, output elsewhere": Case(
        ("true",),
        State.FAILED,
        Cause.LAUNCH_FAILED,
        {"workdir": "/nowhere/at/all", "output": "/tmp/%j-%n.out", "recovery": ONCE_MORE},
        executions=2,
    ),
    "a secret that cannot be read": Case(
        ("true",),
        State.FAILED,
        Cause.LAUNCH_FAILED,
        {"secretEnv": {"TOKEN": {"file": "/nowhere"}}},
    ),
    "cancelled by its owner": Case(
        ("sleep", "300"), State.CANCELLED, Cause.CANCELLED, cancelled_by="alice", by=By.OWNER
    ),
    "cancelled by root": Case(
        ("sleep", "300"), State.CANCELLED, Cause.CANCELLED, cancelled_by="root", by=By.ADMINISTRATOR
    ),
}


@dataclass(frozen=True)
class Outcomes:
    """All cases that the cluster can play at once on one cluster."""

    site: Site
    jobs: dict[str, str]
    accounting: bool

    def verdict(self, name: str) -> Verdict:
        verdict = self.site.system.view(self.jobs[name]).verdict
        assert verdict is not None, self.site.trace(self.jobs[name])
        return verdict


def play(site: Site, jobs: dict[str, str]) -> Iterator[None]:
    """Submit every case, cancel those that are to be cancelled once they run, and drive all to their ends."""
    jobs |= {
        name: site.submit(*case.command, **case.fields)
        for name, case in CASES.items()
        if case.cause is not Cause.OUT_OF_MEMORY or site.lab.options.cgroup
    }
    cancelled: set[str] = set()
    for _ in site.driving(list(jobs.values()), seconds=240):
        if all(site.system.view(job).verdict for job in jobs.values()):
            return
        for name in jobs:
            case, current = CASES[name], site.system.view(jobs[name]).current
            if case.cancelled_by and name not in cancelled and current and current.ran:
                site.lab.text(case.cancelled_by, "scancel", site.slurm_id(jobs[name]))
                cancelled.add(name)
        yield


@pytest.fixture(scope="module")
def both(
    lab: Lab, lab_without_accounting: Lab, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Outcomes]]:
    """The cases on both clusters, played in turns: the time limit alone takes more than a minute."""
    outcomes = {
        name: Outcomes(Site(one, tmp_path_factory.mktemp(name)), {}, accounting=one is lab)
        for name, one in (("with accounting", lab), ("without accounting", lab_without_accounting))
    }
    plays = [play(one.site, one.jobs) for one in outcomes.values()]
    while plays:
        plays = [one for one in plays if next(one, "over") != "over"]
    yield outcomes
    for one in outcomes.values():
        one.site.close()


@pytest.fixture(params=["with accounting", "without accounting"])
def outcomes(request: pytest.FixtureRequest, both: dict[str, Outcomes]) -> Outcomes:
    return both[request.param]


def skip_without_cgroups(outcomes: Outcomes, name: str) -> None:
    if name not in outcomes.jobs:
        pytest.skip(f"no memory cgroups here: {why_no_cgroups()}")


@pytest.mark.parametrize("name", CASES)
def test_it_ends_with_its_state_cause_and_evidence(outcomes: Outcomes, name: str) -> None:
    case = CASES[name]
    skip_without_cgroups(outcomes, name)
    verdict = outcomes.verdict(name)
    assert (verdict.state, verdict.cause) == (case.state, case.cause)
    detail = verdict.detail
    assert case.exit_code in (None, detail.exit_code)
    assert case.signal in (None, detail.signal)
    assert detail.by == (case.by if outcomes.accounting else None)
    if case.cause is not Cause.REJECTED:
        assert verdict.evidence
        sources = {fact.source for fact in verdict.evidence}
        assert Source.QUEUE in sources
    else:
        words = {
            "unknown partition": "Invalid partition name specified",
            "missing working directory": "/nowhere/at/all",
        }
        assert words[name] in (detail.reason or "")
    assert verdict.proven


@pytest.mark.parametrize("name", CASES)
def test_its_budget_is_counted_once_for_each_execution(outcomes: Outcomes, name: str) -> None:
    skip_without_cgroups(outcomes, name)
    case, job = CASES[name], outcomes.jobs[name]
    decided = outcomes.site.events(job, Decided)
    expected = [Action.RESUBMIT] * (case.executions - 1) + [Action.FAIL] * (case.executions > 0)
    assert [one.action for one in decided] == (expected if case.cause else [])
    assert sum(one.budget is not None for one in decided) == max(case.executions - 1, 0)
    assert len(outcomes.site.system.view(job).objects) == case.executions
