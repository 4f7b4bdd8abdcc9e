"""From the rules that a plan leaves to the scheduler, to what an order says of them, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch.model.answers import Action
from dispatch.model.errors import Fault, Invalid, Unsupported
from dispatch.model.plan import Executor

if TYPE_CHECKING:
    from dispatch.model.plan import Plan
    from dispatch.model.policy import Policy, Rule

REQUEUE = "requeue"
MAX_RESTARTS = "maxRestarts"
MOST_RESTARTS = 999_999


def compile_requeue(policy: Policy, plan: Plan) -> dict[str, str]:
    """Say ``--requeue`` where a rule needs it. Slurm counts nothing and has its own delay (12, B2)."""
    rules = _left_to_the_scheduler(policy, plan)
    for number, rule in rules:
        if rule.limit is not None or rule.within is not None or rule.backoff is not None:
            raise Unsupported(
                f"Rule {number} cannot be left to Slurm: it keeps no limit and no backoff.",
                todo="Take both out of the rule, or let `native.restart` be no.",
            )
    return {REQUEUE: "1"} if rules else {}


def compile_restarts(policy: Policy, plan: Plan) -> dict[str, str]:
    """Say how often a JobSet may restart: it counts all its restarts together, and waits before none."""
    rules = _left_to_the_scheduler(policy, plan)
    for number, rule in rules:
        if rule.limit is None or rule.within is not None or rule.backoff is not None:
            raise Unsupported(
                f"Rule {number} cannot be left to a JobSet: it needs a limit, and keeps no window and no backoff.",
                todo="Give the rule a limit alone, or let `native.restart` be no.",
            )
    limits = [rule.limit for _, rule in rules if rule.limit is not None]
    return {MAX_RESTARTS: str(min(limits))} if limits else {}


def _left_to_the_scheduler(policy: Policy, plan: Plan) -> list[tuple[int, Rule]]:
    found = [
        (planned.rule, policy.rules[planned.rule])
        for planned in plan.rules
        if planned.executor is Executor.SCHEDULER
    ]
    for planned in plan.rules:
        if planned.executor is Executor.SCHEDULER and planned.action is not Action.RESTART:
            raise Unsupported(
                f"Rule {planned.rule} cannot be left to the scheduler: it can restart, and not {planned.action}."
            )
    return found


def requeues_natively(native: dict[str, str]) -> bool:
    """Read from an order whether Slurm may requeue the object by itself."""
    return _one(native, REQUEUE, "1", allowed="1") is not None


def most_restarts(native: dict[str, str]) -> int:
    """Read from an order how often the JobSet restarts by itself."""
    text = _one(native, MAX_RESTARTS, None, allowed=f"a number up to {MOST_RESTARTS}")
    if text is None:
        return 0
    if not text.isascii() or not text.isdigit() or int(text) > MOST_RESTARTS:
        raise _wrong(MAX_RESTARTS, text, f"a number up to {MOST_RESTARTS}")
    return int(text)


def _one(native: dict[str, str], key: str, only: str | None, *, allowed: str) -> str | None:
    for name, value in native.items():
        if name != key or (only is not None and value != only):
            raise _wrong(name, value, allowed if name == key else f"{key} alone")
    return native.get(key)


def _wrong(name: str, value: str, allowed: str) -> Invalid:
    fault = Fault(path=f"native.{name}", found=repr(value), allowed=allowed)
    return Invalid("What is left to the scheduler is wrong.", faults=(fault,))
