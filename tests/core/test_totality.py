"""Whatever is read, in whatever order, ``next_step`` answers, and answers nothing that could break a promise."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple

from hypothesis import given, settings, strategies as st

from core.builders import (
    DECLARED,
    T0,
    at,
    ended,
    entry,
    gated,
    header,
    key,
    nodes,
    nodes_wanted,
    queued,
    record,
    running,
    s,
    tell,
)
from dispatch.core.deciding import next_step
from dispatch.core.explaining import explain
from dispatch.core.recovery import effective_job, excluded_nodes
from dispatch.core.situation import is_gone
from dispatch.model.answers import Action
from dispatch.model.codec import decode, encode
from dispatch.model.journal import (
    AnyEvent,
    Ended,
    Entry,
    HoldAsked,
    Intended,
    Intent,
    Outcome,
    ReleaseAsked,
    Settled,
    StopAsked,
    Verb,
)
from dispatch.model.policy import (
    ENDING_CAUSES,
    Backoff,
    Cessation,
    Changes,
    CrashLoop,
    ExcludeNodes,
    Limits,
    Policy,
    Rule,
    Unmatched,
)
from dispatch.model.status import By, Cause, Detail, Gate, HoldSeen, Listing, Observation, State
from dispatch.model.steps import Append, Call
from dispatch.model.view import JobView, Phase

MOMENTS = st.sampled_from([0, 1, 26, 31, 58, 301, 4000])
BOOTS = st.sampled_from(["b1", "b1", "b1", "b2"])
HOLDS = st.sampled_from(
    [None, None, HoldSeen(instance=1), HoldSeen(instance=2), HoldSeen(by=By.ADMINISTRATOR), HoldSeen(by=By.OWNER)]
)  # fmt: skip


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    """One object in any state, mostly of ours, sometimes a stranger."""
    n = draw(st.sampled_from([1, 1, 1, 2, 2, 3]))
    fields: dict[str, Any] = {
        "ref": draw(st.sampled_from([f"r{n}-1", f"r{n}-1", f"r{n}-2"])),
        "key": key(
            n,
            store="other" if draw(st.integers(0, 19)) == 0 else "store-1",
            attempt=draw(st.sampled_from(["a0", "a1", "a2"])),
        ),
        "restarts": draw(st.sampled_from([0, 0, 0, 1])),
    }
    match draw(st.sampled_from(["gated", "queued", "running", "ended", "ended"])):
        case "gated":
            return gated(n, hold=draw(HOLDS), **fields)
        case "queued":
            return queued(n, hold=draw(HOLDS), cleaning=draw(st.booleans()), **fields)
        case "running":
            return running(n, start=draw(st.sampled_from([0, 0, 50])), **fields)
        case _:
            cause = draw(st.sampled_from([*sorted(ENDING_CAUSES), Cause.FENCED, None]))
            state = State.SUCCEEDED if cause is None else State.FAILED
            rare = draw(st.integers(0, 9))
            return ended(
                n,
                cause,
                state=state,
                proven=rare != 0,
                ran_for=draw(st.sampled_from([None, 5, 600])),
                detail=Detail(nodes=("n2",)) if cause is Cause.NODE_LOST else None,
                final=rare != 1,
                cleaning=rare == 2,
                **fields,
            )


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Any policy that says something about everything."""
    causes = tuple(sorted(ENDING_CAUSES))
    some = st.lists(st.sampled_from(causes), min_size=1, max_size=4, unique=True)
    rules = tuple(
        Rule(
            when=tuple(draw(some)),
            do=draw(st.sampled_from([Action.RESUBMIT, Action.RESUBMIT, Action.HOLD, Action.FAIL])),
            limit=draw(st.sampled_from([None, 0, 1, 3])),
            backoff=draw(st.sampled_from([None, Backoff(initial=s("1h"), max=s("1d"))])),
            exclude_nodes=draw(st.sampled_from([None, ExcludeNodes()])),
            with_=draw(st.sampled_from([None, Changes(partition="p")])),
        )
        for _ in range(draw(st.integers(0, 3)))
    )
    return Policy(
        rules=rules,
        unmatched=draw(st.sampled_from(Unmatched)),
        limits=Limits(total=draw(st.sampled_from([1, 5, 100]))),
        crash_loop=draw(st.sampled_from([None, CrashLoop(executions=2, shorter_than=s("1m"))])),
        cessation=draw(
            st.sampled_from([Cessation(), Cessation(after="10m"), Cessation(hold_after=s("10m"))])
        ),
    )


class Turn(NamedTuple):
    """What happens in one turn: time, a read, how a call ends, and what a person asks."""

    later: int
    boot: str
    seen: list[Observation]
    up: bool | None
    outcome: Outcome | None
    person: str


TURNS = st.builds(
    Turn,
    later=MOMENTS,
    boot=BOOTS,
    seen=st.lists(observations(), max_size=3),
    up=st.sampled_from([True, True, False, None]),
    outcome=st.sampled_from([Outcome.LANDED, Outcome.LANDED, *Outcome, None, None]),
    person=st.sampled_from(["", "", "", "", "", "", "stop", "hold", "until", "release"]),
)


class Walk:
    """A record that grows by what the core answers, and what must hold of each answer."""

    def __init__(self, policy: Policy) -> None:
        self.events: list[AnyEvent] = [header(policy)]
        self.view = record(policy=policy)
        self.seconds = 0
        self.spent: set[int] = set()
        self.made = 0

    def append(self, *events: AnyEvent) -> None:
        self.view = tell(self.view, *events, when=at(self.seconds))
        self.events += events

    def turn(self, turn: Turn) -> None:
        self.seconds += turn.later
        self.person(turn.person)
        for _ in range(12):
            listing = self.listing(turn)
            step = next_step(self.view, listing, at(self.seconds))
            assert explain(self.view).headline
            if isinstance(step, Call):
                check(self.view, listing, step, self.spent)
                self.call(step, turn)
                return
            if not isinstance(step, Append):
                return
            assert step.events
            assert not (self.view.verdict and any(isinstance(e, Ended) for e in step.events))
            self.append(*step.events)
        raise AssertionError("it appends without end")

    def listing(self, turn: Turn) -> Listing:
        wanted = nodes_wanted(self.view)
        reports = None
        if wanted is not None and turn.up is not None:
            reports = nodes(**dict.fromkeys(wanted or ("n1", "n2"), turn.up))
        unique = {seen.ref: seen for seen in turn.seen}
        return Listing(
            version=self.view.version,
            requested=at(self.seconds),
            sent=at(self.seconds),
            boot=turn.boot,
            observations=tuple(unique.values()),
            nodes=reports,
        )

    def person(self, what: str) -> None:
        instance = self.view.last_instance
        if self.view.verdict is not None:
            return
        if what == "stop":
            self.append(StopAsked(by="alice"))
        elif what == "release":
            self.append(ReleaseAsked(instance=instance, by="alice"))
        elif what:
            until = at(self.seconds + 60) if what == "until" else None
            self.append(HoldAsked(instance=instance + 1, by="alice", until=until))

    def call(self, step: Call, turn: Turn) -> None:
        self.made += 1
        starts = step.verb is Verb.START
        intent = Intent(
            id=f"i{self.made}",
            verb=step.verb,
            submission=step.submission,
            deadline=at(self.seconds) + DECLARED.call_window,
            boot=turn.boot,
            ref=step.ref,
            attempt=f"a{self.made % 3}" if starts else None,
            instance=step.instance,
            base=0 if starts else None,
        )
        if step.verb is Verb.OPEN:
            self.spent.add(step.submission)
        self.append(Intended(intent=intent))
        if turn.outcome is None:
            return
        ref = f"r{step.submission}-1" if starts else None
        retry = None if turn.outcome is Outcome.LANDED else at(self.seconds + 5)
        self.append(Settled(intent=intent.id, outcome=turn.outcome, ref=ref, retry_at=retry))
        if turn.outcome in (Outcome.NOT_LANDED, Outcome.BUSY, Outcome.REJECTED):
            known = self.view.objects.get(step.submission)
            if known is not None and known.phase is Phase.GATED:
                self.spent.discard(step.submission)  # proven not to have landed


def check(view: JobView, listing: Listing, call: Call, spent: set[int]) -> None:
    """No call that the design forbids."""
    known = view.objects.get(call.submission)
    seen = next((each for each in listing.observations if each.ref == call.ref), None)
    if call.verb is Verb.STOP:
        assert seen is not None, "only what is read is stopped"
        assert not seen.state.ended
        assert seen.key.store == view.header.store, "another store's object is stopped"
        return
    assert not view.intents, "a write while the outcome of another is unknown"
    assert view.stop is None, "after a request to stop"
    assert view.verdict is None, "after the verdict"
    if call.verb is Verb.START:
        assert known is None, "an object of this number is known"
        assert all(call.submission > n for n in spent), "a spent number is started again"
        assert all(
            each.phase is Phase.CEASED for each in view.objects.values() if each is view.current
        )
        assert all(each.phase is not Phase.JUDGED for each in view.objects.values())
        assert all(is_gone(each) for each in listing.observations), "another object may live"
        return
    assert known is view.current
    assert seen is not None
    assert known is not None
    assert seen.ref == known.ref
    if call.verb is Verb.OPEN:
        assert known.phase is Phase.GATED
        # Half an open, or a hand, may have taken the gate beneath a hold of ours, which keeps it waiting all the same.
        ours = seen.hold is not None and seen.hold.instance is not None
        assert seen.gate is Gate.CLOSED or (ours and seen.state is State.PENDING)
        others = [each for each in listing.observations if each is not seen]
        assert all(is_gone(each) for each in others), "another object may live"
        wanted = view.hold.instance if view.hold else None
        shown = seen.hold.instance if seen.hold else None
        # A higher hold is from a record that was set back, and serves as well.
        assert wanted is None or (shown is not None and shown >= wanted), "opened, not held"
    if call.verb is Verb.RELEASE:
        assert seen.hold is not None
        assert call.instance == seen.hold.instance is not None
        assert view.hold is None


@settings(max_examples=300)
@given(policies(), st.lists(TURNS, max_size=14))
def test_no_order_of_reads_outcomes_and_requests_breaks_a_promise(
    policy: Policy, turns: list[Turn]
) -> None:
    walk = Walk(policy)
    for turn in turns:
        walk.turn(turn)
    assert effective_job(walk.view).command == walk.view.job.command
    excluded_nodes(walk.view, T0 + timedelta(days=1))


@settings(max_examples=50)
@given(policies(), st.lists(TURNS, max_size=14))
def test_a_record_that_was_written_and_read_again_folds_to_the_same_view(
    policy: Policy, turns: list[Turn]
) -> None:
    walk = Walk(policy)
    for turn in turns:
        walk.turn(turn)
    entries = [entry(n, event) for n, event in enumerate(walk.events, 1)]
    again = [decode(encode(each), Entry) for each in entries]
    assert again == entries
