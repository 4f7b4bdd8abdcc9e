"""Say in words where a job stands, why, and what a person can do about it."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from dispatch.model.base import Value
from dispatch.model.policy import HOLD_BY_CESSATION
from dispatch.model.status import Cause, Observation, State, Verdict
from dispatch.model.view import JobView, ObjectView, Phase


class Explanation(Value):
    """Where a job stands (``state``, ``cause``, one ``headline``), why, and what to do."""

    state: State
    headline: str
    cause: Cause | None = None
    why: tuple[str, ...] = ()
    todo: tuple[str, ...] = ()


def explain(view: JobView) -> Explanation:
    """Explain a job from its record alone."""
    if view.verdict is not None:
        return _ended(view, view.verdict)
    known = view.current
    explanation = _unstarted(view) if known is None else _by_phase(view, known)
    if view.stop is not None:
        line = f"{view.stop.by} asked for it to stop; this is true once its end is certain"
        return Explanation(
            state=explanation.state,
            cause=explanation.cause,
            headline=f"stopping: {explanation.headline}",
            why=(line, *explanation.why),
        )
    return explanation


def _ended(view: JobView, verdict: Verdict) -> Explanation:
    todo: tuple[str, ...] = ()
    if verdict.cause is Cause.REJECTED:
        todo = ("Correct the job file and submit it again.",)
    return Explanation(
        state=verdict.state,
        cause=verdict.cause,
        headline=describe(verdict),
        why=tuple(_reasons(view)) if verdict.cause else (),
        todo=todo,
    )


def _reasons(view: JobView) -> list[str]:
    decision = view.last_decision
    return (
        [f"decided: {decision.action}, since {decision.why}"] if decision and decision.why else []
    )


def describe(verdict: Verdict) -> str:
    """One line for a verdict: the cause, what belongs to it, and how sure it is."""
    detail = verdict.detail
    parts = [
        f"exit code {detail.exit_code}" if detail.exit_code is not None else "",
        f"signal {detail.signal}" if detail.signal else "",
        f"nodes {', '.join(detail.nodes)}" if detail.nodes else "",
        f"by {detail.who or detail.by}" if detail.who or detail.by else "",
        f'"{detail.reason}"' if detail.reason else "",
        f"perhaps {detail.suspected}" if detail.suspected else "",
        "" if verdict.proven else "not proven",
    ]
    belongs = ", ".join(part for part in parts if part)
    name = verdict.cause or verdict.state
    return f"{name} ({belongs})" if belongs else str(name)


def _unstarted(view: JobView) -> Explanation:
    if view.intents:
        return Explanation(state=State.PENDING, headline="being submitted to the scheduler")
    if view.retry_at is not None:
        why = (view.retry_why,) if view.retry_why else ()
        return Explanation(
            state=State.PENDING, cause=Cause.NO_CAPACITY, headline="refused for now", why=why
        )
    return Explanation(state=State.PENDING, headline="accepted, not yet submitted to the scheduler")


def _by_phase(view: JobView, known: ObjectView) -> Explanation:
    match known.phase:
        case Phase.GATED:
            return Explanation(
                state=State.PENDING, cause=Cause.GATED, headline="created, not yet opened"
            )
        case Phase.OPENING:
            return Explanation(state=State.PENDING, cause=Cause.GATED, headline="being opened")
        case Phase.TAINTED:
            return Explanation(
                state=State.UNKNOWN,
                cause=Cause.FORGOTTEN,
                headline="being replaced",
                why=(known.why,),
            )
        case Phase.OPEN:
            return _watched(known)
        case Phase.ENDED:
            return _just_ended(known)
        case Phase.JUDGED:
            return _awaiting_cessation(view, known)
        case Phase.CEASED:
            return _due(view, known)
        case _:
            assert_never(known.phase)


def _watched(known: ObjectView) -> Explanation:
    seen = known.seen
    if known.missing is not None or seen is None:
        headline = "opened" if seen is None else "not shown by the scheduler"
        return Explanation(
            state=State.UNKNOWN if known.missing else State.PENDING, headline=headline
        )
    headline = describe(seen.verdict) if seen.cause else "waiting in the scheduler's queue"
    if seen.state is State.RUNNING:
        headline = f"running on {', '.join(seen.nodes)}" if seen.nodes else "running"
    return Explanation(
        state=seen.state,
        cause=seen.cause,
        headline=headline,
        why=_facts(seen),
        todo=_advice(seen.cause, seen),
    )


def _facts(seen: Observation) -> tuple[str, ...]:
    return tuple(f"{fact.source}: {fact.field} is {fact.value}" for fact in seen.verdict.evidence)


def _advice(cause: Cause | None, seen: Observation) -> tuple[str, ...]:
    if cause is Cause.HELD and seen.hold and seen.hold.instance is not None:
        return ("`dispatch release JOB` lets it run.",)
    if cause is Cause.HELD:
        return (
            "A person held it in the scheduler; it is theirs to release: `scontrol release ID`.",
        )
    if cause is Cause.ADMIN_HELD:
        return ("An administrator holds it; ask them.",)
    if cause is Cause.UNSATISFIABLE:
        return (
            "It can never start as it is. `dispatch stop JOB`, correct the job file, and submit it again.",
        )
    return ()


def _just_ended(known: ObjectView) -> Explanation:
    seen = known.seen
    verdict = seen.verdict if seen else Verdict(state=State.UNKNOWN)
    why = ("what is done about it is decided once the end is certain",)
    return Explanation(
        state=verdict.state, cause=verdict.cause, headline=f"ended: {describe(verdict)}", why=why
    )


def _awaiting_cessation(view: JobView, known: ObjectView) -> Explanation:
    decision = view.last_decision
    last = f"submission {known.submission} ended: {describe(decision.verdict)}" if decision else ""
    if known.nodes_back is not None:
        wait = view.header.declarations.kill_wait
        return Explanation(
            state=State.PENDING,
            cause=Cause.AWAITING_CESSATION,
            headline=f"awaiting proof until {_clock(known.nodes_back + wait)} that the last execution is gone",
            why=(
                last,
                f"its nodes respond; they have {wait} to kill what they should not run",
                *_reasons(view),
            ),
            todo=() if view.hold is not None else ("It goes on by itself then.",),
        )
    which = (
        f"nodes {', '.join(known.awaiting)}"
        if known.awaiting
        else "the nodes of the last execution"
    )
    todo: tuple[str, ...] = ("It goes on by itself once the nodes respond again.",)
    if view.hold is not None and view.hold.by == HOLD_BY_CESSATION:
        todo = (
            "Make sure that no process of it is left on the nodes, then `dispatch release JOB`.",
        )
    return Explanation(
        state=State.PENDING,
        cause=Cause.AWAITING_CESSATION,
        headline=f"awaiting proof from {which} that the last execution is gone",
        why=(last, *_reasons(view)),
        todo=todo,
    )


def _due(view: JobView, known: ObjectView) -> Explanation:
    decision = view.last_decision
    headline = f"submission {known.submission + 1} is due"
    if decision is not None and decision.due is not None:
        headline += f" at {_clock(decision.due)}"
    why = (
        (f"submission {known.submission} ended: {describe(decision.verdict)}",) if decision else ()
    )
    cause = Cause.NO_CAPACITY if view.retry_at else Cause.BACKING_OFF
    retry = (view.retry_why,) if view.retry_why else ()
    return Explanation(
        state=State.PENDING, cause=cause, headline=headline, why=(*why, *retry, *_reasons(view))
    )


def _clock(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
