"""What is done about an execution that ended: the policy's rules, its budgets and its brakes.

Everything here is a function of the record, so that deciding again gives the same answer: the jitter of a backoff is a
hash of job and epoch, budgets are counted over recorded decisions, and due times count from the recorded end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime

from msgspec.structs import replace

from dispatch.model.answers import Action
from dispatch.model.job import Job
from dispatch.model.journal import Decided
from dispatch.model.policy import (
    NO_RECOVERY,
    PROGRAM_CAUSES,
    Backoff,
    Budget,
    Changes,
    ExcludeNodes,
    Policy,
    Rule,
    Trigger,
    Unmatched,
    Which,
)
from dispatch.model.quantity import Duration, Size, TimeLimit
from dispatch.model.status import By, Cause, Observation, State, Verdict
from dispatch.model.view import JobView, ObjectView

FREE_CAUSES = frozenset({Cause.FENCED, Cause.FORGOTTEN})
"""Faults of ours and of the controller: the protocol goes on by itself and charges nobody."""

MOST_FREE_RETRIES = 10
"""After so many of them in a row something is wrong with the cluster, and a person must look."""

FREE_BACKOFF = Backoff(initial=Duration(seconds=5), max=Duration(minutes=10), jitter=20)


def decide(view: JobView, known: ObjectView, verdict: Verdict, now: datetime) -> Decided:
    """Decide about the execution of that object which ended with that verdict.

    ``now`` is the cluster's clock, the one by which the end was recorded.
    """
    policy = view.job.policy or NO_RECOVERY
    ended = known.ended.seen_by if known.ended else now
    decided = Decided(
        submission=known.submission,
        restarts=known.restarts,
        verdict=verdict,
        action=Action.FAIL,
        ran_for=_ran_for(known.seen),
    )
    if view.stop is not None:
        return replace(decided, verdict=_stopped(view, verdict), why="a stop was asked for")
    if verdict.cause in FREE_CAUSES:
        return _go_on(view, decided, ended)
    decided = replace(decided, budget=_budget(verdict))
    spent = _spent_budget(view, policy, decided.budget)
    for index, rule in enumerate(policy.rules):
        if _matches(rule, verdict) and (found := _by_rule(view, known, decided, index, ended)):
            if found.action is Action.FAIL:
                return found
            if found.budget is None and view.lost_starts >= MOST_FREE_RETRIES:
                return _give_up(view, found)
            spent = _spent_budget(view, policy, found.budget)
            return _brake(view, policy, found) if not spent else _unmatched(policy, found, spent)
    return _unmatched(
        policy, decided, spent or "no rule matches, or the limits of those that match are used up"
    )


def _ran_for(seen: Observation | None) -> Duration | None:
    if seen is None or seen.started is None or seen.ended is None or seen.ended < seen.started:
        return None
    return Duration(seconds=int((seen.ended - seen.started).total_seconds()))


def _stopped(view: JobView, verdict: Verdict) -> Verdict:
    cancelled = verdict.cause is Cause.CANCELLED and verdict.detail.by not in (
        By.ADMINISTRATOR,
        By.OTHER,
    )
    if view.stop is None or not (cancelled or verdict.cause in FREE_CAUSES):
        return verdict  # it had an end of its own before the stop reached it
    detail = replace(verdict.detail, who=view.stop.by, reason=view.stop.why or None)
    return replace(verdict, state=State.CANCELLED, cause=Cause.STOPPED, detail=detail)


def _go_on(view: JobView, decided: Decided, ended: datetime) -> Decided:
    if view.lost_starts >= MOST_FREE_RETRIES:
        return _give_up(view, replace(decided, due=ended))
    wait = backoff(FREE_BACKOFF, view.lost_starts, view.id, decided.submission, decided.restarts)
    return replace(
        decided,
        action=Action.RESUBMIT,
        due=ended + wait,
        why="a fault of the controller, charged to nobody",
    )


def _give_up(view: JobView, decided: Decided) -> Decided:
    """Hold for a person what has been tried too often at nobody's charge: only a budget would end it otherwise."""
    why = f"{view.lost_starts + 1} executions in a row were lost, and nobody knows to what; a person must look"
    return replace(decided, action=Action.HOLD, why=why)


def _unmatched(policy: Policy, decided: Decided, why: str) -> Decided:
    """Apply ``unmatched``; nothing is charged, since nothing is tried again."""
    decided = replace(
        decided, rule=None, budget=None, changes=None, exclude=(), exclude_until=None, why=why
    )
    if policy.unmatched is Unmatched.FAIL:
        return replace(decided, action=Action.FAIL, due=None)
    return replace(decided, action=Action.HOLD)


def _budget(verdict: Verdict) -> Budget | None:
    if verdict.cause is Cause.UNKNOWN and not verdict.proven:
        return None  # nobody knows whose fault it was (12, E5)
    return Budget.PROGRAM if verdict.cause in PROGRAM_CAUSES else Budget.INFRASTRUCTURE


# --- matching


def _matches(rule: Rule, verdict: Verdict) -> bool:
    return any(_triggers(when, verdict) for when in rule.when)


def _triggers(when: Cause | Trigger, verdict: Verdict) -> bool:
    """Whether the verdict is what a rule waits for; a bare cause matches it whatever belongs to it."""
    if isinstance(when, Cause):
        return when is verdict.cause
    detail = verdict.detail
    return (
        when.cause is verdict.cause
        and (not when.exit_code or detail.exit_code in when.exit_code)
        and (not when.signal or detail.signal in when.signal)
        and (when.by is None or detail.by is when.by)
        and (when.suspected is None or detail.suspected is when.suspected)
    )


# --- budgets


def _charged(view: JobView) -> Iterator[tuple[datetime, Decided]]:
    return ((at, decided) for at, decided in view.decisions if decided.budget is not None)


def _spent_budget(view: JobView, policy: Policy, budget: Budget | None) -> str:
    """Say which budget of the whole job is used up, or nothing."""
    charged = [decided.budget for _, decided in _charged(view)]
    if len(charged) >= policy.limits.total:
        return f"limits.total of {policy.limits.total} is used up"
    limit = {
        Budget.INFRASTRUCTURE: policy.limits.infrastructure,
        Budget.PROGRAM: policy.limits.program,
        None: None,
    }[budget]
    if limit is not None and charged.count(budget) >= limit:
        return f"limits.{budget} of {limit} is used up"
    return ""


def _uses(view: JobView, index: int, since: datetime | None) -> int:
    return sum(
        1
        for at, decided in view.decisions
        if decided.rule == index and (since is None or at > since)
    )


def _by_rule(
    view: JobView, known: ObjectView, decided: Decided, index: int, ended: datetime
) -> Decided | None:
    """Decide by the rule; ``None`` where its limit is used up or nothing is left to raise."""
    rule = (view.job.policy or NO_RECOVERY).rules[index]
    since = ended - rule.within if rule.within else None
    uses = _uses(view, index, since)
    if rule.limit is not None and uses >= rule.limit:
        return None
    changes = _changes(effective_job(view), rule)
    if rule.raise_ and changes is None:
        return None
    action = view.header.plan.action(index)
    decided = replace(
        decided,
        rule=index,
        action=action,
        budget=rule.budget or decided.budget,
        changes=changes,
        why=f"rule {index + 1}",
    )
    if action is Action.FAIL:
        return replace(decided, budget=None, changes=None)
    wait = Duration() if action is Action.HOLD and rule.backoff is None else None
    if wait is None:
        wait = backoff(rule.backoff or Backoff(), uses, view.id, known.submission, known.restarts)
    return replace(
        decided, due=ended + wait, **_excluded(known, decided.verdict, rule.exclude_nodes, ended)
    )


def _excluded(
    known: ObjectView, verdict: Verdict, exclude: ExcludeNodes | None, ended: datetime
) -> dict[str, tuple[str, ...] | datetime]:
    if exclude is None:
        return {}
    nodes = verdict.detail.nodes
    if exclude.which is Which.ALL:
        nodes = known.ran.nodes if known.ran else known.seen.nodes if known.seen else ()
    return {"exclude": nodes[: exclude.max], "exclude_until": ended + exclude.for_} if nodes else {}


def _brake(view: JobView, policy: Policy, decided: Decided) -> Decided:
    """Hold or fail instead, where the last executions were all too short."""
    brake = policy.crash_loop
    if brake is None:
        return decided
    own = [one for _, one in view.decisions if one.verdict.cause not in FREE_CAUSES]
    last = [*own, decided][-brake.executions :]
    short = [one for one in last if one.ran_for is not None and one.ran_for < brake.shorter_than]
    if len(short) < brake.executions:
        return decided
    why = f"crashLoop: the last {brake.executions} executions were each shorter than {brake.shorter_than}"
    if brake.do is Unmatched.FAIL:
        return replace(decided, action=Action.FAIL, due=None, budget=None, changes=None, why=why)
    return replace(decided, action=Action.HOLD, why=why)


# --- waiting


def backoff(wait: Backoff, uses: int, job: str, submission: int, restarts: int) -> Duration:
    """Work out the wait before the next execution: it doubles with each use, and jitter only ever lengthens it."""
    doubled = min(wait.initial.ms << min(uses, 40), wait.max.ms)
    digest = hashlib.sha256(f"{job} {submission} {restarts}".encode()).digest()
    share = int.from_bytes(digest[:4], "big") * wait.jitter // 100
    return Duration.of_ms(min(doubled + doubled * share // 2**32, _LONGEST.ms))


_LONGEST = Duration(days=10_000)


# --- changes


def _changes(job: Job, rule: Rule) -> Changes | None:
    """The rule's changes with its raised limits worked out; ``None`` where it raises and nothing can rise."""
    changes = rule.with_ or Changes()
    if rule.raise_ is None:
        return rule.with_
    raised: dict[str, TimeLimit | Size] = {}
    limit = rule.raise_.time_limit
    if limit and job.time_limit is not None:
        milliseconds = min(job.time_limit.ms * limit.percent // 100, limit.max.ms)
        if milliseconds > job.time_limit.ms:
            raised["time_limit"] = TimeLimit.of_ms(milliseconds)
    memory = rule.raise_.memory
    if memory and job.memory is not None:
        size = min(job.memory * memory.percent // 100, memory.max)
        if size > job.memory:
            raised["memory"] = Size(size)
    return replace(changes, **raised) if raised else None


_CHANGED = ("partition", "account", "qos", "constraint", "nodes", "memory", "time_limit")


def effective_job(view: JobView) -> Job:
    """The job with the changes of all decisions so far, in their order."""
    job = view.job
    for _, decided in view.decisions:
        if decided.changes is not None:
            job = changed_job(job, decided.changes)
    return job


def changed_job(job: Job, changes: Changes) -> Job:
    """The job with these changes. Raises ``Invalid`` where they do not go with its other fields."""
    fields = {
        name: getattr(changes, name) for name in _CHANGED if getattr(changes, name) is not None
    }
    return replace(job, **fields, env={**job.env, **changes.env})


def excluded_nodes(view: JobView, now: datetime) -> tuple[str, ...]:
    """The nodes that the next execution is kept off, the newest exclusions first, at most as many as the rule says."""
    policy = view.job.policy or NO_RECOVERY
    nodes: dict[str, None] = {}
    most = max((rule.exclude_nodes.max for rule in policy.rules if rule.exclude_nodes), default=0)
    for _, decided in reversed(view.decisions):
        if decided.exclude_until is not None and decided.exclude_until > now:
            nodes.update(dict.fromkeys(decided.exclude))
    return tuple(nodes)[:most]
