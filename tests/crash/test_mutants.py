"""The suite can fail: each of these faults, put into dispatch for one test, is found by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from crash.exploring import (
    Failure,
    Plan,
    crashes,
    explore,
    late_crashes,
    lost_replies,
    pauses,
    tell,
)
from crash.site import POLL, Process, Records, Site
from crash.stories import BY_NAME
from dispatch.adapters.memory import MemoryBackend
from dispatch.core import landing
from dispatch.model.answers import Capability
from dispatch.model.errors import DispatchError
from dispatch.model.journal import Intended, Intent, Outcome, Settled, Verb
from dispatch.model.status import Listing
from dispatch.model.steps import Call
from dispatch.model.view import JobView
from dispatch.shell.acting import Writer
from dispatch.shell.batch import Wanted
from dispatch.shell.engine import Engine
from dispatch.shell.intents import intend
from dispatch.spi.adapter import CallMeta, MultiWriter
from dispatch.testing.faults import Points

Plans = Callable[[list[str]], Iterable[Plan]]


def failures(
    name: str, records: Records, kind: type[Process], plans: Plans = crashes
) -> list[Failure]:
    """The first thing that the suite finds in a story, with processes of that kind."""
    story = BY_NAME[name]
    points, failure = tell(story, records, Plan("no fault"), kind)
    if failure is not None:
        return [failure]
    return explore(story, records, plans(points.passed), kind, most=1)[1]


class WithWriter(Process):
    """A process with another writer."""

    writer: ClassVar[type[Writer]] = Writer

    def __init__(self, site: Site, name: str, points: Points) -> None:
        super().__init__(site, name, points)
        engine = Engine(self.ledger, self.backend, poll=POLL)
        engine.writer = self.writer(self.ledger, self.backend, engine.writer.slots)
        self.clusters.named("c")._engine = engine


class OutcomeFirst(Writer):
    """Records that a call has landed, and then makes it."""

    async def make(self, view: JobView, call: Call, listing: Listing) -> JobView | None:
        if call.verb is Verb.START:
            return await super().make(view, call, listing)
        intent = intend(view, call, listing, self.ledger.clock.now())
        intended = self.ledger.append(view, (Intended(intent=intent),))
        if intended is None:
            return None
        landed = Settled(intent=intent.id, outcome=Outcome.LANDED, ref=intent.ref)
        after = self.record(intended, landed)
        await self._call(intended, intent, listing)
        return after


class OutcomeFirstProcess(WithWriter):
    writer: ClassVar[type[Writer]] = OutcomeFirst


class IntentAfter(Writer):
    """Makes a call, and then records that it was meant."""

    async def make(self, view: JobView, call: Call, listing: Listing) -> JobView | None:
        intent = intend(view, call, listing, self.ledger.clock.now())
        settled = await self._call(view, intent, listing)
        intended = self.ledger.append(view, (Intended(intent=intent),))
        return intended if intended is None or settled is None else self.record(intended, settled)


class IntentAfterProcess(WithWriter):
    writer: ClassVar[type[Writer]] = IntentAfter


class OpensTogether(Writer):
    """Makes the opens of a round in a way of its own, and everything else as it should be."""

    async def make_all(self, wanted: Sequence[Wanted]) -> dict[str, Exception]:
        opens = [one for one in wanted if one.call.verb is Verb.OPEN]
        if opens:
            now = self.ledger.clock.now()
            await self.open_all(
                [(one.view, intend(one.view, one.call, one.listing, now)) for one in opens]
            )
        return await super().make_all([one for one in wanted if one.call.verb is not Verb.OPEN])

    async def open_all(self, opens: list[tuple[JobView, Intent]]) -> None:
        raise NotImplementedError

    async def call_all(self, intents: Sequence[Intent]) -> Sequence[DispatchError | None]:
        """One call for all of them."""
        assert isinstance(self.backend, MultiWriter)
        meta = CallMeta(deadline=min(intent.deadline for intent in intents))
        return await self.backend.open_many([intent.ref or "" for intent in intents], meta)

    def intended(self, opens: list[tuple[JobView, Intent]]) -> list[tuple[JobView, Intent]]:
        """Those whose intent is recorded now, with the view after that."""
        views = [
            (self.ledger.append(view, (Intended(intent=intent),)), intent) for view, intent in opens
        ]
        return [(view, intent) for view, intent in views if view is not None]

    def landed(self, opens: list[tuple[JobView, Intent]]) -> None:
        """Record of each that it has landed."""
        for view, intent in opens:
            self.record(view, Settled(intent=intent.id, outcome=Outcome.LANDED, ref=intent.ref))


class OpensWell(OpensTogether):
    """The way of its own without a fault: what is found in the others is theirs."""

    async def open_all(self, opens: list[tuple[JobView, Intent]]) -> None:
        meant = self.intended(opens)
        answers = await self.call_all([intent for _, intent in meant])
        self.landed([one for one, answer in zip(meant, answers, strict=True) if answer is None])


class OpensWellProcess(WithWriter):
    writer: ClassVar[type[Writer]] = OpensWell


class IntentsAfter(OpensTogether):
    """Opens many, and then records that they were meant."""

    async def open_all(self, opens: list[tuple[JobView, Intent]]) -> None:
        await self.call_all([intent for _, intent in opens])
        self.landed(self.intended(opens))


class IntentsAfterProcess(WithWriter):
    writer: ClassVar[type[Writer]] = IntentsAfter


class OutcomesFirst(OpensTogether):
    """Records that many opens have landed, and then makes them."""

    async def open_all(self, opens: list[tuple[JobView, Intent]]) -> None:
        meant = self.intended(opens)
        self.landed(meant)
        await self.call_all([intent for _, intent in meant])


class OutcomesFirstProcess(WithWriter):
    writer: ClassVar[type[Writer]] = OutcomesFirst


class UnheardTaken(OpensTogether):
    """Takes what was not heard of one for what was heard of another."""

    async def open_all(self, opens: list[tuple[JobView, Intent]]) -> None:
        meant = self.intended(opens)
        await self.call_all([intent for _, intent in meant])
        self.landed(meant)


class UnheardTakenProcess(WithWriter):
    writer: ClassVar[type[Writer]] = UnheardTaken


class ChargedApart(Process):
    """Decides in one append and asks for the hold of that decision in another (12, B1)."""

    def __init__(self, site: Site, name: str, points: Points) -> None:
        super().__init__(site, name, points)
        append = self.ledger.append

        def apart(view: JobView, events: Any) -> JobView | None:
            after: JobView | None = view
            for event in events:
                after = None if after is None else append(after, (event,))
            return after

        self.ledger.append = apart  # type: ignore[method-assign]


class Timeless(MemoryBackend):
    """Compares no deadline where the command runs."""

    def _write(
        self,
        verb: str,
        ref: str,
        meta: CallMeta,
        steps: Any,
        *,
        needs: Capability | None = None,
    ) -> Any:
        late = replace(meta, deadline=meta.deadline + timedelta(days=1))
        return super()._write(verb, ref, late, steps, needs=needs)


class TimelessProcess(Process):
    def view_of(self, site: Site) -> MemoryBackend:
        return Timeless(site.backend._world, alias="c")


@pytest.mark.parametrize(
    ("name", "kind", "plans"),
    [
        ("success", OutcomeFirstProcess, crashes),
        ("success", IntentAfterProcess, crashes),
        ("held by its policy, released, success", ChargedApart, crashes),
        ("preempted, resubmitted, success", TimelessProcess, pauses),
        ("three together, success", IntentsAfterProcess, crashes),
        ("three together, success", OutcomesFirstProcess, crashes),
        ("three together, success", UnheardTakenProcess, lost_replies),
        ("three together, success", TimelessProcess, pauses),
    ],
    ids=[
        "outcome before the call",
        "intent after the call",
        "charged apart",
        "no deadline",
        "intents after the call of many",
        "outcomes before the call of many",
        "of many, one that is not heard of is taken for made",
        "no deadline for many",
    ],
)
def test_a_fault_in_dispatch_is_found(
    name: str, kind: type[Process], plans: Plans, records: Records
) -> None:
    assert failures(name, records, kind, plans)


@pytest.mark.parametrize("plans", [crashes, lost_replies])
def test_where_no_fault_is_put_none_is_found(plans: Plans, records: Records) -> None:
    assert not failures("three together, success", records, OpensWellProcess, plans)


def test_a_landing_bound_that_is_missing_is_found(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_once(intent: Intent, _: object) -> Any:
        return intent.deadline - timedelta(hours=1)

    monkeypatch.setattr(landing, "landing_bound", at_once)
    assert failures("stopped while gated", records, Process, late_crashes)
