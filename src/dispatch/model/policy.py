"""The recovery policy: data from the cause of an end to what is done about it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from dispatch.model.answers import Action
from dispatch.model.base import Value
from dispatch.model.documents_words import show
from dispatch.model.errors import Fault, Invalid
from dispatch.model.names import RESERVED_PREFIX, EnvName, SignalName, Word, is_reserved
from dispatch.model.quantity import Duration, Size, TimeLimit
from dispatch.model.status import By, Cause

Limit = Annotated[int, Meta(ge=0, le=999_999)]

ENDING_CAUSES = frozenset({
    Cause.LAUNCH_FAILED, Cause.NON_ZERO_EXIT, Cause.SIGNALLED, Cause.OUT_OF_MEMORY, Cause.TIMEOUT,
    Cause.DEADLINE_EXCEEDED, Cause.PREEMPTED, Cause.NODE_LOST, Cause.EVICTED, Cause.CANCELLED, Cause.REQUEUED,
    Cause.UNSATISFIABLE, Cause.UNKNOWN,
})  # fmt: skip
"""The causes with which an execution can end and which a rule can match. Not among them: what a person asked for
(``Stopped``), what can never be tried again (``Rejected``), and faults of ours or of the controller (``Fenced``,
``Forgotten``), which the protocol itself recovers from and charges to nobody."""


class Budget(StrEnum):
    """What an ended execution is charged to."""

    INFRASTRUCTURE = "infrastructure"
    PROGRAM = "program"


PROGRAM_CAUSES = frozenset({
    Cause.NON_ZERO_EXIT, Cause.SIGNALLED, Cause.OUT_OF_MEMORY, Cause.TIMEOUT, Cause.DEADLINE_EXCEEDED,
})  # fmt: skip
"""Causes that the program's own budget is charged for, where the rule does not say otherwise."""


class Trigger(Value):
    """A cause that a rule matches, narrowed by what belongs to it."""

    cause: Cause
    exit_code: tuple[Annotated[int, Meta(ge=0, le=255)], ...] = ()
    signal: tuple[SignalName, ...] = ()
    by: By | None = None
    suspected: Cause | None = None

    def __post_init__(self) -> None:
        if self.cause not in ENDING_CAUSES:
            allowed = ", ".join(sorted(ENDING_CAUSES))
            raise Invalid(
                "A rule is wrong.", faults=(Fault(path="cause", found=self.cause, allowed=allowed),)
            )


class Backoff(Value):
    """How long to wait before the next execution; it doubles from ``initial`` to ``max``, varied by ``jitter`` percent."""

    initial: Duration = Duration(seconds=30)
    max: Duration = Duration(minutes=10)
    jitter: Annotated[int, Meta(ge=0, le=100)] = 20

    def __post_init__(self) -> None:
        if self.max < self.initial:
            fault = Fault(
                path="max", found=str(self.max), allowed=f"at least initial, {self.initial}"
            )
            raise Invalid("A backoff is wrong.", faults=(fault,))


class Which(StrEnum):
    """Which nodes of an ended execution are left out of the next."""

    FAILED = "failed"
    ALL = "all"


class ExcludeNodes(Value):
    """Keep the next executions off nodes of the one that ended, for so long, at most so many nodes at once."""

    which: Which = Which.FAILED
    for_: Duration = field(name="for", default=Duration(hours=24))
    max: Annotated[int, Meta(ge=1, le=1000)] = 8


class Raise(Value):
    """Raise a limit to so many percent of what it was, up to a maximum."""

    percent: Annotated[int, Meta(ge=101, le=1000)]
    max: TimeLimit


class RaiseMemory(Value):
    """Raise the memory to so many percent of what it was, up to a maximum."""

    percent: Annotated[int, Meta(ge=101, le=1000)]
    max: Size


class Raises(Value):
    """The limits that a rule raises."""

    time_limit: Raise | None = None
    memory: RaiseMemory | None = None


class Changes(Value):
    """Fields of the job that a rule sets from here on."""

    partition: Word | None = None
    account: Word | None = None
    qos: Word | None = None
    constraint: Word | None = None
    nodes: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    memory: Size | None = None
    time_limit: TimeLimit | None = None
    env: dict[EnvName, str] = {}

    def __post_init__(self) -> None:
        faults = tuple(
            Fault(
                path=f"env.{name}",
                found=name,
                allowed=f"a name without the prefix {RESERVED_PREFIX}, ours alone in capitals and in small letters",
            )
            for name in self.env
            if is_reserved(name)
        )
        if faults:
            raise Invalid("The changes of a rule are wrong.", faults=faults)


class Rule(Value):
    """One rule: the causes it matches, what to do, and how often."""

    when: Annotated[tuple[Cause | Trigger, ...], Meta(min_length=1)]
    do: Action
    or_else: Action | None = None
    limit: Limit | None = None
    within: Duration | None = None
    budget: Budget | None = None
    backoff: Backoff | None = None
    exclude_nodes: ExcludeNodes | None = None
    raise_: Raises | None = field(name="raise", default=None)
    with_: Changes | None = field(name="with", default=None)

    def __post_init__(self) -> None:
        faults = [
            Fault(path=f"when[{index}]", found=when, allowed=", ".join(sorted(ENDING_CAUSES)))
            for index, when in enumerate(self.when)
            if isinstance(when, Cause) and when not in ENDING_CAUSES
        ]
        if self.within is not None and self.limit is None:
            faults.append(
                Fault(path="within", found=str(self.within), allowed="only together with limit")
            )
        if self.or_else is not None and self.do is not Action.RESTART:
            faults.append(
                Fault(path="orElse", found=self.or_else, allowed="only together with do: restart")
            )
        if faults:
            raise Invalid("A rule is wrong.", faults=tuple(faults))


class Unmatched(StrEnum):
    """What is done with a cause that no rule matches, or whose budgets are used up."""

    FAIL = "fail"
    HOLD = "hold"


class Limits(Value):
    """Budgets over the whole life of the job, in ended executions."""

    total: Limit = 100
    infrastructure: Limit | None = None
    program: Limit | None = None


class CrashLoop(Value):
    """The brake: after so many executions in a row that were shorter than this, hold or fail."""

    executions: Annotated[int, Meta(ge=2, le=100)]
    shorter_than: Duration
    do: Unmatched = Unmatched.HOLD


PROOF = "proof"


class Cessation(Value):
    """What a new copy needs after an end, since processes may live on: proof, or a declared wait.

    ``after`` is ``proof`` or a duration; ``holdAfter`` holds the job when no proof has come by then.
    """

    after: str = PROOF
    hold_after: Duration | None = None

    def __post_init__(self) -> None:
        if self.after != PROOF:
            try:
                Duration.parse(self.after)
            except ValueError as error:
                fault = Fault(path="after", found=show(self.after), allowed=f"{PROOF}, or {error}")
                raise Invalid("A cessation is wrong.", faults=(fault,)) from None

    @property
    def assumed_after(self) -> Duration | None:
        """The wait that the policy accepts in place of proof; ``None`` where it demands proof."""
        return None if self.after == PROOF else Duration.parse(self.after)


class PendingDo(StrEnum):
    """What is done when a job pends too long."""

    NOTIFY = "notify"


class PendingNotice(Value):
    """Tell somebody when the job has pended longer than this."""

    longer_than: Duration
    do: PendingDo = PendingDo.NOTIFY


class NotifyOn(StrEnum):
    """An event that people can be told of."""

    HELD = "Held"
    FAILED = "Failed"
    SUCCEEDED = "Succeeded"
    CANCELLED = "Cancelled"


class Notify(Value):
    """Tell somebody, by a command or a webhook."""

    on: Annotated[tuple[NotifyOn, ...], Meta(min_length=1)]
    command: tuple[str, ...] = ()
    webhook: Annotated[str, Meta(min_length=1, description="non-empty text")] | None = None

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.webhook):
            fault = Fault(
                path="command",
                found="both or neither of command and webhook",
                allowed="exactly one",
            )
            raise Invalid("A notice is wrong.", faults=(fault,))


class Policy(Value):
    """The recovery policy of a job. First match wins; a rule whose limit is used up is passed over."""

    rules: tuple[Rule, ...] = ()
    unmatched: Unmatched = Unmatched.FAIL
    limits: Limits = Limits()
    crash_loop: CrashLoop | None = None
    cessation: Cessation = Cessation()
    pending: PendingNotice | None = None
    notify: Notify | None = None


NO_RECOVERY = Policy()
"""What a missing ``recovery`` means: the job ends with its cause."""

HOLD_BY_CESSATION = "policy cessation.holdAfter"
"""The name under which ``cessation.holdAfter`` places its hold; a person who releases it says that the copy is gone."""
