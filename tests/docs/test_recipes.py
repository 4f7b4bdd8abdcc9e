"""The recipes for recovery do what their page says, by the real decisions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace

from core.builders import header, record
from core.policies import after, failed
from dispatch.core.recovery import effective_job
from dispatch.model.answers import Action
from dispatch.model.documents import decode_document
from dispatch.model.job import Job
from dispatch.model.journal import Decided
from dispatch.model.policy import Budget
from dispatch.model.status import Cause, Verdict
from dispatch.model.view import JobView
from dispatch.shell.yaml_events import parse_yaml
from docs.blocks import ROOT, blocks_of

PAGE = ROOT / "docs" / "how-to" / "write-a-recovery-policy.md"


def view_of(heading: str, number: int = 0) -> JobView:
    """A job with the policy of that block below the heading."""
    lines = PAGE.read_text().split("\n")
    begin = lines.index(f"## {heading}") + 1
    block = [b for b in blocks_of(PAGE) if b.line > begin and b.language == "yaml"][number]
    data: Any = parse_yaml(block.text, where=str(block))[0]
    job = decode_document({"command": ["x"], **data}, Job, where=str(block))
    return record(head=replace(header(job.policy), job=job))


def decisions(view: JobView, *verdicts: Verdict, **fields: Any) -> list[Decided]:
    return [decided for _, decided in after(view, *verdicts, **fields).decisions]


def actions(view: JobView, *verdicts: Verdict, **fields: Any) -> list[Action]:
    return [decided.action for decided in decisions(view, *verdicts, **fields)]


def test_preemptions_go_to_the_fallback_partition_after_twenty_and_stay_there() -> None:
    view = view_of("Spot partition, with a fallback")
    partitions: list[str | None] = []
    for _ in range(42):
        partitions.append(effective_job(view).partition)
        view = after(view, failed())
    assert Counter(partitions) == {"spot": 21, "ondemand": 21}
    assert view.last_decision is not None
    assert view.last_decision.action is Action.FAIL


def test_a_lost_node_is_left_out_of_the_next_execution() -> None:
    (decided,) = decisions(view_of("A node dies"), failed(Cause.NODE_LOST, nodes=("n7",)))
    assert (decided.action, decided.exclude) == (Action.RESUBMIT, ("n7",))


def test_exit_75_goes_on_for_five_hundred_times_and_is_no_failure_of_the_program() -> None:
    saved = failed(Cause.NON_ZERO_EXIT, exit_code=75)
    made = decisions(view_of("Save, exit 75, go on"), *[saved] * 501)
    assert {decided.action for decided in made[:500]} == {Action.RESUBMIT}
    assert {decided.budget for decided in made[:500]} == {Budget.INFRASTRUCTURE}
    assert made[500].action is Action.FAIL


def test_the_time_limit_rises_as_the_page_says() -> None:
    view = view_of("More time after a time limit")
    limits: list[str] = []
    for _ in range(4):
        limits.append(str(effective_job(view).time_limit))
        view = after(view, failed(Cause.TIMEOUT))
    assert limits == ["8h", "12h", "18h", "1d"]
    assert view.last_decision is not None
    assert view.last_decision.action is Action.FAIL


@pytest.mark.parametrize(
    "verdict",
    [
        failed(Cause.OUT_OF_MEMORY),
        failed(Cause.NON_ZERO_EXIT, exit_code=137, suspected=Cause.OUT_OF_MEMORY),
        failed(Cause.SIGNALLED, signal="KILL", suspected=Cause.OUT_OF_MEMORY),
    ],
    ids=["proven", "by_exit_code", "by_signal"],
)
def test_out_of_memory_asks_a_person(verdict: Verdict) -> None:
    assert actions(view_of("Out of memory: ask me"), verdict) == [Action.HOLD]
    assert actions(view_of("Out of memory: ask me"), failed(Cause.NON_ZERO_EXIT)) == [Action.FAIL]


def test_failures_stop_early_while_preemptions_go_on() -> None:
    view = view_of("Fail early, not a hundred times")
    crash = failed(Cause.NON_ZERO_EXIT, exit_code=1)
    assert actions(view, crash, crash, crash) == [Action.RESUBMIT, Action.RESUBMIT, Action.HOLD]
    assert actions(view, *[failed()] * 4) == [Action.RESUBMIT] * 4
    short = actions(view, *[failed()] * 3, ran_for=60)
    assert short == [Action.RESUBMIT, Action.RESUBMIT, Action.HOLD]
