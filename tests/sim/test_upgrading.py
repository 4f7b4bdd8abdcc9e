"""An older dispatch beside a newer one on the same records: it leaves alone what the newer one has written to, and says so."""

from __future__ import annotations

import pytest

from core.builders import header, intent
from dispatch.model.errors import NewerSchema
from dispatch.model.journal import SCHEMA, AnyEvent, Entry, HoldAsked, Intended, Verb
from dispatch.sim import Options, run
from dispatch.sim.climates import UPGRADED
from dispatch.sim.mutants.mutant import Swap, constant
from dispatch.sim.pausing import PausableLoop
from dispatch.sim.process import Process
from dispatch.sim.site import Site
from dispatch.sim.upgrading import LEFT_ALONE, NEXT, Handle, check_call
from dispatch.spi.store import Turn

JOB = header().id
HOLD = HoldAsked(instance=1, by="alice")


class Two:
    """A supervisor of this dispatch and one of the next, on records with one job that the first has accepted."""

    def __init__(self) -> None:
        self.site = Site(1, Options(faults=False), PausableLoop())
        self.site.upgraded.add("s2")
        self.older, self.newer = (
            self.site.process(name, self.site.chance.stream(name)) for name in ("s1.1", "s2.1")
        )
        self.older.ledger.begin(header())

    @property
    def broken(self) -> str | None:
        """The rule that was broken."""
        return self.site.violation.rule if self.site.violation else None

    def write(self, process: Process, event: AnyEvent) -> None:
        view = process.ledger.view(JOB)
        assert process.ledger.append(view, (event,)) is not None

    def last(self) -> Entry:
        return self.site.records.jobs[JOB].entries[-1]


@pytest.fixture
def two() -> Two:
    return Two()


def test_the_newer_reads_what_the_older_has_written_and_writes_its_own_schema(two: Two) -> None:
    assert two.last().schema == SCHEMA
    two.write(two.newer, HOLD)
    assert two.last().schema == NEXT
    assert two.newer.ledger.view(JOB).version == 2


def test_the_older_is_refused_what_the_newer_has_written_to(two: Two) -> None:
    stale = two.older.ledger.view(JOB)
    two.write(two.newer, HOLD)
    with pytest.raises(NewerSchema):
        two.older.ledger.view(JOB)
    with pytest.raises(NewerSchema):
        two.older.ledger.append(stale, (HOLD,))
    assert two.broken is None


def test_records_that_are_set_back_keep_their_schema(two: Two) -> None:
    first = two.site.records.back_up()
    two.write(two.newer, HOLD)
    two.site.records.restore(two.site.records.back_up())
    assert two.older.store.is_newer(JOB)
    two.site.records.restore(first)
    assert not two.older.store.is_newer(JOB)


def test_an_event_of_the_older_after_one_of_the_newer_breaks_the_rule(two: Two) -> None:
    stale = two.older.ledger.view(JOB)
    with Swap(Handle, "_refuse_newer", constant(None)).made():
        two.write(two.newer, HOLD)
        assert two.older.ledger.append(stale, (HOLD,)) is None  # another was there first
        assert two.broken is None
        two.write(two.older, HoldAsked(instance=2, by="alice"))
    assert two.broken == "T4"


@pytest.mark.parametrize("refused", [True, False])
def test_what_it_was_refused_the_older_neither_claims_nor_puts_off(
    two: Two, *, refused: bool
) -> None:
    two.write(two.newer, HOLD)
    if refused:
        with pytest.raises(NewerSchema):
            two.older.ledger.view(JOB)
    now = two.older.ledger.clock.now()
    two.older.store.claim([JOB], "s1", now, now)
    two.older.store.reschedule_all([Turn(job=JOB, due=now)])
    assert two.broken == ("T4" if refused else None)


def test_a_call_breaks_the_rule_unless_its_intent_was_recorded_before(two: Two) -> None:
    two.write(two.older, Intended(intent=intent(Verb.START)))
    two.write(two.newer, HOLD)
    check_call(two.older, JOB, "start")
    check_call(two.newer, JOB, "start")
    assert two.broken is None
    check_call(two.site.process("s1.2", two.site.chance.stream("s1.2")), JOB, "start")
    assert two.broken == "T4"


def test_jobs_come_to_rest_while_one_after_the_other_upgrades() -> None:
    told = 0
    for seed in range(6):
        outcome = run(seed, UPGRADED)
        assert outcome.violation is None, str(outcome.violation)
        told += outcome.excused.count(LEFT_ALONE)
    assert told


def test_nothing_is_written_by_two_schemas_unless_somebody_upgrades() -> None:
    assert LEFT_ALONE not in run(0, Options(faults=False)).excused
