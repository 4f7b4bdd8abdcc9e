"""Rules that the scheduler carries out itself: expressed in its settings whole, or refused (03, NativePolicyCompiler)."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.verdicts import CannotDo, expect, expect_same
from dispatch.model.answers import Action
from dispatch.model.errors import Unsupported
from dispatch.model.plan import Executor, Plan, PlannedRule
from dispatch.model.policy import Backoff, Policy, Rule
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause, Gate, State
from dispatch.spi.adapter import NativePolicyCompiler

Settings = dict[str, str] | None
"""What a rule becomes; ``None`` where it is refused as one that cannot be expressed."""


def compiled(on: Bench, rule: Rule, executor: Executor = Executor.SCHEDULER) -> Settings:
    """Compile a policy of one rule that is planned for that executor."""
    plan = Plan(rules=(PlannedRule(rule=0, action=rule.do, executor=executor),))
    try:
        return on.compiler.compile_native(Policy(rules=(rule,)), plan)
    except Unsupported:
        return None


def rule_of(action: Action) -> Rule:
    """A rule with that action and no bounds."""
    return Rule(when=(Cause.PREEMPTED,), do=action)


def natives(on: Bench) -> list[Action]:
    """The actions that the scheduler carries out itself."""
    return [action for action, answer in on.backend.answers.native.items() if answer.yes]


def differing() -> Iterator[tuple[str, Rule, Rule]]:
    """Pairs of rules that differ in one bound, with the name of that."""
    rule = rule_of(Action.RESTART)
    yield "limit", replace(rule, limit=2), replace(rule, limit=3)
    short, long = Duration(seconds=30), Duration(hours=1)
    yield "backoff", replace(rule, backoff=Backoff(initial=short)), replace(
        rule, backoff=Backoff(initial=Duration(minutes=5))
    )  # fmt: skip
    yield "within", replace(rule, limit=2, within=long), replace(rule, limit=2, within=long * 9)


@check(needs=NativePolicyCompiler)
async def a_plan_that_leaves_the_scheduler_nothing_compiles_to_nothing(on: Bench) -> None:
    """What the supervisor carries out, the scheduler must not do too: it would run twice."""
    for action in Action:
        found = compiled(on, rule_of(action), Executor.SUPERVISOR)
        expect_same(found, {}, f"what {action} by the supervisor becomes")
    expect_same(on.compiler.compile_native(Policy(), Plan()), {}, "what no rules become")


@check(needs=NativePolicyCompiler)
async def a_rule_that_the_scheduler_carries_out_is_in_its_settings(on: Bench) -> None:
    """A yes must work (02, native): the order takes the settings, and what is made is still gated."""
    if not natives(on):
        raise CannotDo("no native action is yes here")
    for action in natives(on):
        rule = rule_of(action)
        settings = compiled(on, rule) or compiled(on, replace(rule, limit=2))
        expect(bool(settings), f"native {action} is yes, and its plainest rules become {settings}")
        made = await on.start(replace(on.order(), native=settings or {}))
        seen = await on.stays(made, gate=Gate.CLOSED)
        expect_same(seen.state, State.PENDING, "an object that the scheduler may run again")


@check(needs=NativePolicyCompiler)
async def a_rule_that_the_scheduler_cannot_carry_out_is_unsupported(on: Bench) -> None:
    """An action that is passed over would never be done by anybody."""
    for action in (Action.RESUBMIT, Action.HOLD, Action.FAIL):
        if action not in natives(on):
            found = compiled(on, rule_of(action))
            expect_same(found, None, f"what {action} by the scheduler becomes")


@check(needs=NativePolicyCompiler)
async def a_bound_that_the_scheduler_cannot_keep_is_unsupported(on: Bench) -> None:
    """Budgets are never exceeded, and backoffs never cut short (02, S4): a bound is kept or refused, never passed over."""
    for bound, one, another in differing():
        first, second = compiled(on, one), compiled(on, another)
        kept = first is not None and first != second
        refused = first is None and second is None
        expect(kept or refused, f"rules with another {bound} both become {first}")
    unbounded = compiled(on, rule_of(Action.RESTART))
    bounded = compiled(on, replace(rule_of(Action.RESTART), limit=2))
    expect(
        unbounded is None or unbounded != bounded, f"a limit of 2 becomes {bounded}, as none does"
    )
