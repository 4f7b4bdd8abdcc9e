"""The plan: who carries out each rule of a policy, and on which answers that rests."""

from __future__ import annotations

from enum import StrEnum

from dispatch.model.answers import Action
from dispatch.model.base import Value


class Executor(StrEnum):
    """Who carries out a rule."""

    SUPERVISOR = "supervisor"
    SCHEDULER = "scheduler"


class PlannedRule(Value):
    """One rule of the policy as it will be carried out; ``action`` is the rule's own or its ``orElse``."""

    rule: int
    action: Action
    executor: Executor = Executor.SUPERVISOR
    rests_on: tuple[str, ...] = ()
    """The answers that it rests on, in words."""


class Plan(Value):
    """An accepted plan, stored in the header of the job's record."""

    rules: tuple[PlannedRule, ...] = ()
    notes: tuple[str, ...] = ()
    """What a person should know, such as an answer that was not proven."""

    def action(self, rule: int) -> Action:
        """The action planned for the rule of that index."""
        return self.rules[rule].action
