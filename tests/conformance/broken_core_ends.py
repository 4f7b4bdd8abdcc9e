"""Broken cores: what becomes of ends, of a policy's rules and of its budgets."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec.structs import replace

from conformance.breaking_core import Unhurried, in_place_of, supervisor
from dispatch.core import ending, recovery
from dispatch.core.situation import Situation
from dispatch.model.answers import Action
from dispatch.model.errors import Conflict, Refused
from dispatch.model.job import Job
from dispatch.model.journal import Decided, Ended, HoldAsked
from dispatch.model.plan import Plan, PlannedRule
from dispatch.model.policy import Budget, Changes, Policy, Trigger
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause, State, Verdict
from dispatch.model.steps import Append
from dispatch.model.view import JobView, ObjectView
from dispatch.shell import operator
from dispatch.shell.operator import Operator
from dispatch.shell.supervisor import Round
from dispatch.spi.store import Query

# ----------------------------------------------------------------------------- verdicts


@in_place_of(ending, "final_verdict")
def succeeds_without_evidence(real: Any, known: ObjectView, verdict: Verdict) -> Verdict:
    """a success that is told without its evidence"""
    found: Verdict = real(known, verdict)
    return replace(found, evidence=()) if found.state is State.SUCCEEDED else found


@in_place_of(ending, "final_verdict")
def forgets_the_code(real: Any, known: ObjectView, verdict: Verdict) -> Verdict:
    """a verdict that has lost the exit code"""
    found: Verdict = real(known, verdict)
    return replace(found, detail=replace(found.detail, exit_code=None))


@in_place_of(ending, "final_verdict")
def blames_the_owner(real: Any, known: ObjectView, verdict: Verdict) -> Verdict:
    """a cancellation by anybody that is told as a stop of ours"""
    found: Verdict = real(known, verdict)
    return replace(found, cause=Cause.STOPPED) if found.cause is Cause.CANCELLED else found


@in_place_of(ending, "_judge")
def stops_a_success(real: Any, s: Situation, known: ObjectView, verdict: Verdict) -> Any:
    """a success that a later stop turns into a stop"""
    if s.view.stop is not None and verdict.state is State.SUCCEEDED:
        verdict = Verdict(state=State.CANCELLED, cause=Cause.CANCELLED)
    return real(s, known, verdict)


@in_place_of(ending, "_judge")
def bears_a_grudge(real: Any, s: Situation, known: ObjectView, verdict: Verdict) -> Any:
    """a success that an earlier failure turns into one"""
    if s.view.decisions and verdict.state is State.SUCCEEDED:
        failed = s.view.decisions[-1][1].verdict
        return Append(events=(Ended(verdict=failed),), row="judge")
    return real(s, known, verdict)


@supervisor
class WritesOn(Unhurried):
    """a supervisor that goes on writing into the record of an ended job"""

    async def round(self) -> Round:
        for job in self.ledger.store.list(Query(finished=True)):
            view = self.ledger.view(job.id)
            asked = HoldAsked(instance=view.last_instance + 1, by="a broken supervisor")
            self.ledger.append(view, (asked,))
        return await super().round()


# ----------------------------------------------------------------------------- submitting


@in_place_of(operator, "fingerprint")
def takes_any_spec(real: Any, job: Job) -> str:
    """a key under which any spec is taken for the first"""
    del real, job
    return "0" * 64


@in_place_of(operator, "make_plan")
def plans_anything(real: Any, job: Job, answers: Any) -> Plan:
    """a plan that is accepted whatever the cluster answers"""
    try:
        accepted: Plan = real(job, answers)
    except Refused:
        rules = job.policy.rules if job.policy else ()
        planned = [PlannedRule(rule=n, action=rule.do) for n, rule in enumerate(rules)]
        return Plan(rules=tuple(planned))
    return accepted


@in_place_of(Operator, "_ask")
def asks_the_dead(real: Any, self: Operator, job: str, what: str, ask: Any) -> JobView:
    """a request that is recorded although its job has ended"""
    view = self.ledger.view(job)
    if view.verdict is None:
        asked: JobView = real(self, job, what, ask)
        return asked
    return view


@in_place_of(Operator, "ask_hold")
def takes_any_hold(real: Any, self: Operator, job: str, *given: Any, **named: Any) -> JobView:
    """a hold that is taken for the one there is, whatever it says"""
    try:
        held: JobView = real(self, job, *given, **named)
    except Conflict:
        return self.ledger.view(job)
    return held


# --------------------------------------------------------------------------------- rules


@in_place_of(recovery, "_unmatched")
def never_holds_the_unmatched(real: Any, policy: Policy, decided: Decided, why: str) -> Decided:
    """an unmatched cause that fails the job whatever the policy says"""
    found: Decided = real(policy, decided, why)
    return replace(found, action=Action.FAIL)


@in_place_of(recovery, "_triggers")
def ignores_the_code(real: Any, when: Cause | Trigger, verdict: Verdict) -> bool:
    """a trigger that matches every exit code"""
    return bool(real(when.cause if isinstance(when, Trigger) else when, verdict))


@in_place_of(recovery, "_triggers")
def sees_no_preemption(real: Any, when: Cause | Trigger, verdict: Verdict) -> bool:
    """a rule for preemptions that matches none"""
    return when is not Cause.PREEMPTED and bool(real(when, verdict))


@in_place_of(recovery, "_triggers")
def sees_no_failed_launch(real: Any, when: Cause | Trigger, verdict: Verdict) -> bool:
    """a rule for failed launches that matches none"""
    return when is not Cause.LAUNCH_FAILED and bool(real(when, verdict))


@in_place_of(ending, "decide")
def holds_nothing(real: Any, view: JobView, *given: Any) -> Decided:
    """a rule that should hold, and tries again"""
    found: Decided = real(view, *given)
    wrong = found.action is Action.HOLD and found.rule is not None
    return replace(found, action=Action.RESUBMIT) if wrong else found


@in_place_of(recovery, "_changes")
def gives_no_memory(real: Any, job: Job, rule: Any) -> Changes | None:
    """memory that is raised to what it was"""
    found: Changes | None = real(job, rule)
    return replace(found, memory=job.memory) if found and found.memory else found


@in_place_of(recovery, "_changes")
def gives_no_time(real: Any, job: Job, rule: Any) -> Changes | None:
    """a time limit that is raised to what it was"""
    found: Changes | None = real(job, rule)
    return replace(found, time_limit=job.time_limit) if found and found.time_limit else found


# ------------------------------------------------------------------------------- budgets


@in_place_of(recovery, "_uses")
def counts_one_less(real: Any, *given: Any) -> int:
    """a limit that is one too high"""
    return max(0, int(real(*given)) - 1)


@in_place_of(recovery, "_uses")
def knows_no_window(real: Any, view: JobView, index: int, since: datetime | None) -> int:
    """a limit whose window never slides"""
    del since
    return int(real(view, index, None))


@in_place_of(recovery, "_spent_budget")
def never_spends_the_total(real: Any, *given: Any) -> str:
    """a total budget that is never used up"""
    spent = str(real(*given))
    return "" if "total" in spent else spent


@in_place_of(recovery, "_budget")
def charges_the_infrastructure(real: Any, verdict: Verdict) -> Budget:
    """a failure of the program that the infrastructure pays for"""
    del real, verdict
    return Budget.INFRASTRUCTURE


@in_place_of(recovery, "backoff")
def hurries(real: Any, *given: Any) -> Duration:
    """a backoff that is cut short by half"""
    return Duration.of_ms(real(*given).ms // 2)


@in_place_of(recovery, "_brake")
def brakes_nothing(real: Any, view: JobView, policy: Policy, decided: Decided) -> Decided:
    """a crash loop that nothing brakes"""
    del real, view, policy
    return decided


@in_place_of(recovery, "_stopped")
def forgets_why(real: Any, view: JobView, verdict: Verdict) -> Verdict:
    """a stop that does not tell why it was asked for"""
    found: Verdict = real(view, verdict)
    return replace(found, detail=replace(found.detail, reason=None))
