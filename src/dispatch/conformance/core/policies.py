"""Policies for the checks: small, and quick enough for a cluster in real time."""

from __future__ import annotations

from typing import Any

from dispatch.model.answers import Action
from dispatch.model.policy import Backoff, Policy, Rule, Trigger
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause

FAILED = Cause.NON_ZERO_EXIT
"""The cause that every harness can bring about which can end a program."""
SOON = Backoff(initial=Duration(seconds=10), jitter=0)


def rule(
    *when: Cause | Trigger,
    do: Action = Action.RESUBMIT,
    backoff: Backoff | None = SOON,
    **fields: Any,
) -> Rule:
    """A rule for these causes, by default to try again soon after a failure of the program."""
    return Rule(when=when or (FAILED,), do=do, backoff=backoff, **fields)


def policy(*rules: Rule, **fields: Any) -> Policy:
    """A policy of these rules, by default to try again after a failure of the program, without end."""
    return Policy(rules=rules or (rule(),), **fields)
