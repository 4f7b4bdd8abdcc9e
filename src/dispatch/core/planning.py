"""Accept a job with a plan, or refuse it with every reason at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dispatch.model.answers import Action, Answer, Answers, Capability, Feature
from dispatch.model.errors import Invalid, Refused
from dispatch.model.job import Job, features_of
from dispatch.model.plan import Executor, Plan, PlannedRule
from dispatch.model.policy import NO_RECOVERY, PROOF, Policy, Rule, Unmatched

_CHANGE_FEATURES = {
    "partition": Feature.PARTITION,
    "account": Feature.ACCOUNT,
    "qos": Feature.QOS,
    "constraint": Feature.CONSTRAINT,
}


def make_plan(job: Job, answers: Answers) -> Plan:
    """Plan the job on a cluster that answers so; ``Refused`` names every answer that stands in the way."""
    if isinstance(job.recovery, str):
        raise Invalid(
            f"The recovery policy {job.recovery!r} has not been looked up.",
            todo="Define it under policies.",
        )
    policy = job.policy or NO_RECOVERY
    planned = [_plan_rule(index, rule, answers) for index, rule in enumerate(policy.rules)]
    reasons = [
        *_missing_capabilities(policy, [rule for rule, _ in planned], answers),
        *_missing_features(job, policy, answers),
        *(reason for _, refusals in planned for reason in refusals),
        *_contradictions(job),
    ]
    if reasons:
        raise Refused(
            "The job is refused: this cluster cannot honour all of it.",
            reasons=tuple(reasons),
            todo="Change the job, or the cluster's settings, so that none of these is left:",
        )
    return Plan(rules=tuple(rule for rule, _ in planned), notes=tuple(_notes(policy, answers)))


def _plan_rule(index: int, rule: Rule, answers: Answers) -> tuple[PlannedRule, list[str]]:
    refusals: list[str] = []
    for action in (rule.do, *((rule.or_else,) if rule.or_else else ())):
        missing = list(_obstacles(action, answers))
        if not missing:
            native = answers.native.get(action)
            executor = Executor.SCHEDULER if native and native.yes else Executor.SUPERVISOR
            rests_on = (f"rule {action}: {_say(answers.rule(action))}",)
            return PlannedRule(rule=index, action=action, executor=executor, rests_on=rests_on), []
        refusals += [f"recovery.rules[{index}]: {reason}" for reason in missing]
    return PlannedRule(rule=index, action=rule.do), refusals


def _obstacles(action: Action, answers: Answers) -> Iterator[str]:
    if action is Action.RESTART and answers.rule(action).yes:
        yield "the action restart is not carried out by this version of dispatch: use resubmit, or add orElse: resubmit"
    if not answers.rule(action).yes:
        yield f"the action {action} is not possible here: {_say(answers.rule(action))}"
    if action is Action.HOLD and not answers.capability(Capability.HOLD).yes:
        yield f"it holds, but holds do not work here: {_say(answers.capability(Capability.HOLD))}"


def _say(answer: Answer) -> str:
    reason = f", {answer.reason}" if answer.reason else ""
    return f"{answer.value} ({answer.source}{reason})"


def _missing_capabilities(
    policy: Policy, planned: Sequence[PlannedRule], answers: Answers
) -> Iterator[str]:
    gate = answers.capability(Capability.GATE)
    if not gate.yes:
        yield f"a new object cannot be kept from running until it is recorded: Gate is {_say(gate)}"
    hold = answers.capability(Capability.HOLD)
    if not hold.yes:
        yield from (
            f"recovery.{place}: it holds, but holds do not work here: {_say(hold)}"
            for place in _holding(policy)
        )
    cessation = answers.capability(Capability.CESSATION)
    if policy.cessation.after == PROOF and not cessation.yes:
        again = [f"rules[{one.rule}]" for one in planned if one.action is not Action.FAIL]
        yield from (
            f"recovery.{place}: a new copy needs proof that the old one is gone, which cannot be had here: Cessation is "
            f"{_say(cessation)}; declare a wait instead, such as recovery.cessation.after: 30m"
            for place in (*again, *(one for one in _holding(policy) if one != _HOLD_AFTER))
        )


_HOLD_AFTER = "cessation.holdAfter"


def _holding(policy: Policy) -> list[str]:
    """The places of the policy, beside its rules, that may hold the job."""
    does = {
        "unmatched": policy.unmatched is Unmatched.HOLD,
        "crashLoop": policy.crash_loop is not None and policy.crash_loop.do is Unmatched.HOLD,
        _HOLD_AFTER: policy.cessation.hold_after is not None,
    }
    return [place for place, holds in does.items() if holds]


def _missing_features(job: Job, policy: Policy, answers: Answers) -> Iterator[str]:
    for feature in sorted(features_of(job)):
        if not (answer := answers.feature(feature)).yes:
            yield f"{feature}: not honoured here: {_say(answer)}"
    for index, rule in enumerate(policy.rules):
        for name, feature in _CHANGE_FEATURES.items():
            if (
                rule.with_
                and getattr(rule.with_, name) is not None
                and not answers.feature(feature).yes
            ):
                answer = answers.feature(feature)
                yield f"recovery.rules[{index}].with.{name}: not honoured here: {_say(answer)}"


def _contradictions(job: Job) -> Iterator[str]:
    if job.signal_before and job.time_limit is None:
        yield "signalBefore: it needs a timeLimit to come before"
    elif (
        job.signal_before
        and job.time_limit is not None
        and job.signal_before.lead >= job.time_limit
    ):
        yield f"signalBefore: a lead of {job.signal_before.lead} does not fit into the timeLimit of {job.time_limit}"
    policy = job.policy or NO_RECOVERY
    for index, rule in enumerate(policy.rules):
        if (
            rule.raise_
            and rule.raise_.time_limit
            and job.time_limit is None
            and not _sets(policy, "time_limit")
        ):
            yield f"recovery.rules[{index}].raise.timeLimit: the job has no timeLimit to raise"
        if (
            rule.raise_
            and rule.raise_.memory
            and job.memory is None
            and not _sets(policy, "memory")
        ):
            yield f"recovery.rules[{index}].raise.memory: the job has no memory to raise"


def _sets(policy: Policy, name: str) -> bool:
    changes = (rule.with_ for rule in policy.rules if rule.with_)
    return any(getattr(change, name) is not None for change in changes)


def _notes(policy: Policy, answers: Answers) -> Iterator[str]:
    fence = answers.capability(Capability.FENCE)
    if not fence.yes:
        yield f"Fence is {_say(fence)}: nothing shows that a second launch by a controller that crashed would be refused"
    if policy.cessation.assumed_after is not None:
        yield (
            f"A new copy is started {policy.cessation.assumed_after} after a node was lost, without proof that the old one "
            "is gone: two copies may run if it is not."
        )
