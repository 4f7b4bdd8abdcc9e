"""Values to text: tables, ages, sentences."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from dispatch.cli.render import age, plan_lines
from dispatch.cli.telling import tell, tell_history, verdict_words
from dispatch.cli.terminal import Cell, clean, columns, cut, table
from dispatch.model.answers import Action, ClusterIdentity, Declarations
from dispatch.model.job import Job
from dispatch.model.journal import (
    Accepted,
    Actor,
    Adopted,
    AnyEvent,
    Awaiting,
    BoundsGrew,
    Ceased,
    Decided,
    Ended,
    Entry,
    Forgot,
    HoldAsked,
    Intended,
    Intent,
    Missed,
    NodesBack,
    Observed,
    Outcome,
    Proof,
    ReleaseAsked,
    Settled,
    StopAsked,
    Vanished,
    Verb,
)
from dispatch.model.plan import Plan
from dispatch.model.status import (
    Cause,
    Detail,
    Evidence,
    ObjectKey,
    Observation,
    Source,
    State,
    Verdict,
)

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
LOST = Verdict(
    state=State.FAILED,
    cause=Cause.NODE_LOST,
    detail=Detail(nodes=("n3",)),
    evidence=(Evidence(source=Source.QUEUE, field="job_state", value="NODE_FAIL", read_at=NOW),),
)
SEEN = Observation(
    ref="7:x",
    key=ObjectKey(job="J", store="S", submission=2, attempt="a"),
    verdict=LOST,
    nodes=("n3", "n4"),
    restarts=1,
    cleaning=True,
)
INTENT = Intent(id="i", verb=Verb.START, submission=2, deadline=NOW, boot="b")
CLUSTER = ClusterIdentity(alias="big", adapter="slurm", name="big")


# ---------------------------------------------------------------- terminal


def test_a_table_is_aligned_and_cut_at_its_last_column() -> None:
    rows = [[Cell("a"), Cell("long text here")], [Cell("日本"), Cell("x")]]
    assert table(("N", "WHY"), rows) == ["N     WHY", "a     long text here", "日本  x"]
    assert table(("N", "WHY"), rows, 16) == ["N     WHY", "a     long text…", "日本  x"]


def test_colour_does_not_count_as_width() -> None:
    [_, line] = table(("A", "B"), [[Cell("x", "red"), Cell("y")]])
    assert line == "\x1b[31mx\x1b[0m  y"


@given(st.text(), st.integers(1, 30))
def test_whatever_is_cut_fits_and_is_clean(text: str, most: int) -> None:
    shown = cut(clean(text), most)
    assert columns(shown) <= most
    assert shown.isprintable()


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\nb", "a\\nb"),
        ("é", "é"),
        ("\u202e", "\\u202e"),
        ("\ud800", "\\ud800"),
    ],
)
def test_control_characters_lose_their_power(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(seconds=-1), "0s"),
        (timedelta(seconds=119), "119s"),
        (timedelta(minutes=2), "2m"),
        (timedelta(minutes=119), "119m"),
        (timedelta(hours=2), "2h"),
        (timedelta(hours=47), "47h"),
        (timedelta(days=2), "2d"),
    ],
)
def test_an_age_is_told_in_one_unit(duration: timedelta, text: str) -> None:
    assert age(duration) == text


# ---------------------------------------------------------------- telling


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (
            Accepted(
                id="01KDVDNA00Z8EMQR80BXX9TXB9", job=Job(command=("x",)), spec_hash="h", plan=Plan(),
                cluster=CLUSTER, store="S", declarations=Declarations(),
            ),
            "accepted for the cluster big (slurm)",
        ),
        (Intended(intent=INTENT), "about to start submission 2, by 2026-11-30T12:00:00Z at the latest"),
        (Settled(intent="i", outcome=Outcome.LANDED, ref="7:x"), "the start of submission 2 landed, as 7:x"),
        (Settled(intent="i", outcome=Outcome.BUSY, reason="full"), "the start of submission 2 refused for now: full"),
        (Settled(intent="other", outcome=Outcome.NOT_LANDED), "a call did not land"),
        (Missed(intent="i", sent=NOW, boot="b"), "a read after the last moment of the start of submission 2 does not show it"),
        (
            Observed(submission=2, observation=SEEN, sent=NOW, boot="b"),
            "submission 2: Failed, NodeLost (nodes n3) on n3, n4, restart 1, its processes are being cleaned up",
        ),
        (Vanished(submission=2, sent=NOW, boot="b"), "submission 2 is not shown by the scheduler, which proves nothing yet"),
        (Forgot(submission=2, why="its open"), "the controller forgot what it had acknowledged of submission 2: its open"),
        (
            Decided(
                submission=2, restarts=1, verdict=LOST, action=Action.RESUBMIT, rule=0, due=NOW, exclude=("n3",), why="w"
            ),
            "execution 2.1 ended: Failed, NodeLost (nodes n3); decided: resubmit by rule 1, not before 2026-11-30T12:00:00Z, without n3 (w)",
        ),
        (Awaiting(submission=2, nodes=("n3",), sent=NOW), "no proof yet that submission 2 is gone; awaited from n3"),
        (Awaiting(submission=2, nodes=(), sent=NOW), "no proof yet that submission 2 is gone; awaited from its nodes"),
        (NodesBack(submission=2, sent=NOW), "every node of submission 2 responds after its end"),
        (Ceased(submission=2, proof=Proof.ASSUMED_GONE, why="30m"), "submission 2 is gone: assumed, not proven (30m)"),
        (
            Adopted(submission=2, attempt="a", observation=SEEN),
            "found 7:x of submission 2, which the record did not know, and adopted it",
        ),
        (
            HoldAsked(instance=3, by="ann", why="disk", until=NOW),
            "ann wants it held until 2026-11-30T12:00:00Z (instance 3): disk",
        ),
        (ReleaseAsked(instance=3, by="ann"), "ann lifts hold 3"),
        (StopAsked(by="ann"), "ann wants it to end"),
        (
            BoundsGrew(declarations=Declarations()),
            ("the bounds that count from here on: a call takes at most 25s, the controller forgets at most 30s, evidence stays "
            "5m, a kill takes 30s, clocks differ by 2s"),
        ),
        (Ended(verdict=Verdict(state=State.SUCCEEDED)), "the job ended: Succeeded"),
    ],
)  # fmt: skip
def test_every_event_is_a_sentence(event: AnyEvent, text: str) -> None:
    assert tell(event, {"i": INTENT}) == text


def test_a_verdict_without_proof_says_so() -> None:
    assert verdict_words(Verdict(state=State.UNKNOWN, proven=False)) == "Unknown (not proven)"


def test_evidence_is_told_once() -> None:
    actor = Actor(user="ann", host="login1", role="user")
    events: list[AnyEvent] = [
        Observed(submission=2, observation=SEEN, sent=NOW, boot="b"),
        Ended(verdict=LOST),
    ]
    entries = [
        Entry(version=i + 1, at=NOW, actor=actor, nonce=str(i), event=event)
        for i, event in enumerate(events)
    ]
    first, second = tell_history(entries)
    assert first.evidence == ("queue says job_state=NODE_FAIL at 2026-11-30T12:00:00Z",)
    assert second.evidence == ()
    assert first.by == "ann@login1"


def test_a_plan_without_a_policy_says_what_that_means() -> None:
    lines = plan_lines(Job(command=("x",), cluster="c"), Plan(notes=("holds are not proven",)))
    assert lines == [
        "job can run on c.",
        "  no recovery: the job ends with its first cause",
        "  note: holds are not proven",
    ]
