"""Broken adapters which compile rules wrongly, or are wrong about weak identities."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from conformance.breaking import Breakable, broken
from dispatch.model.answers import Action
from dispatch.model.errors import Unsupported
from dispatch.model.plan import Executor, Plan
from dispatch.model.policy import Policy

RESTARTS: dict[str, Any] = {
    "rules": {"restart": {"value": "yes"}},
    "native": {"restart": {"value": "yes"}},
}


class Compiling(Breakable):
    """Restarts by itself, as its answers say."""

    settings = RESTARTS


@broken
class CompilesEverything(Compiling):
    """a compiler that leaves the scheduler what the supervisor carries out"""

    def compile_native(self, policy: Policy, plan: Plan) -> dict[str, str]:
        theirs = [
            replace(rule, executor=Executor.SCHEDULER) if rule.action is Action.RESTART else rule
            for rule in plan.rules
        ]
        return super().compile_native(policy, Plan(rules=tuple(theirs)))


@broken
class CompilesNothing(Compiling):
    """a compiler that expresses nothing of what is claimed"""

    def compile_native(self, policy: Policy, plan: Plan) -> dict[str, str]:
        super().compile_native(policy, plan)
        return {}


@broken
class PassesOverActions(Compiling):
    """a compiler that passes over an action that the scheduler does not know"""

    def compile_native(self, policy: Policy, plan: Plan) -> dict[str, str]:
        known = tuple(rule for rule in plan.rules if rule.action is Action.RESTART)
        return super().compile_native(policy, Plan(rules=known))


@broken
class PassesOverBounds(Compiling):
    """a compiler that passes over a bound that the scheduler does not keep"""

    def compile_native(self, policy: Policy, plan: Plan) -> dict[str, str]:
        try:
            return super().compile_native(policy, plan)
        except Unsupported:
            bare = [replace(rule, limit=None, within=None, backoff=None) for rule in policy.rules]
            return super().compile_native(replace(policy, rules=tuple(bare)), plan)


@broken
class AlwaysWeak(Breakable):
    """a sound ref that is called weak"""

    async def weakness(self, ref: str) -> str | None:
        return await super().weakness(ref) or "Ids may wrap."


@broken
class NeverWeak(Breakable):
    """a weak ref that is called sound"""

    async def weakness(self, ref: str) -> str | None:
        await super().weakness(ref)
        return None


@broken
class WeakOfNothing(Breakable):
    """a ref without an object that is called sound"""

    async def weakness(self, ref: str) -> str | None:
        if ref.startswith("9"):
            return None
        return await super().weakness(ref)
