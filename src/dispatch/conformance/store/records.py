"""The store suite, first part: records, and what makes them safe to write twice."""

from __future__ import annotations

from contextlib import closing

from dispatch.conformance.store.samples import (
    NOW,
    SECOND,
    end,
    grow,
    header,
    hold,
    job_id,
    make,
    stop,
    summary,
)
from dispatch.conformance.store.suite import OpenStore, check
from dispatch.conformance.verdicts import expect, expect_same, refused
from dispatch.model.epoch import is_ulid
from dispatch.model.errors import Conflict, Invalid, NewerSchema, NotFound
from dispatch.model.journal import SCHEMA
from dispatch.model.status import Cause, State
from dispatch.spi.store import Query

# ------------------------------------------------------------------------ identity


@check()
async def a_store_keeps_the_identity_it_was_made_with(open_store: OpenStore) -> None:
    """Every object carries it; by it a sweep knows its own from those of another store (12, T1)."""
    with closing(open_store()) as first, closing(open_store()) as second:
        expect(bool(is_ulid(first.id)), "is_ulid(first.id)")
        expect_same(first.id, second.id, "first.id")
    with closing(open_store()) as third:
        expect_same(third.id, first.id, "third.id")


@check()
async def a_store_says_where_the_records_are(open_store: OpenStore) -> None:
    """Whoever has two stores must see which one a command has read (12, T1)."""
    with closing(open_store()) as store:
        expect(bool(store.place), "store.place")


@check()
async def a_store_is_closed_twice_without_harm(open_store: OpenStore) -> None:
    """Clean-up code runs wherever it may (04)."""
    store = open_store()
    store.close()
    store.close()


# ------------------------------------------------------------------------- records


@check()
async def an_entry_is_loaded_as_it_was_written(open_store: OpenStore) -> None:
    """An event is never rewritten, and says who and when (04)."""
    first, second, third = header(job_id(1)), hold(2), stop(3)
    with closing(open_store()) as store:
        store.create(first, summary(job_id(1)))
        expect(
            bool(grow(store, job_id(1), 1, [second, third])),
            "grow(store, job_id(1), 1, [second, third])",
        )
    with closing(open_store()) as store:
        expect_same(store.load(job_id(1)), (first, second, third), "store.load(job_id(1))")


@check()
async def loading_after_a_version_gives_only_what_follows(open_store: OpenStore) -> None:
    """A long record is folded once, and then only what was appended to it (04)."""
    with closing(open_store()) as store:
        job = make(store, 1)
        grow(store, job, 1, [hold(2), hold(3)])
        expect_same(
            [entry.version for entry in store.load(job, after=1)],
            [2, 3],
            "[entry.version for entry in store.load(job, after=1)]",
        )
        expect_same(store.load(job, after=3), (), "store.load(job, after=3)")
        expect_same(store.load(job, after=9), (), "store.load(job, after=9)")


@check()
async def of_two_appends_on_one_version_the_first_wins_and_the_second_writes_nothing(
    open_store: OpenStore,
) -> None:
    """The intent is the lock, and this is what makes it one (04)."""
    with closing(open_store()) as one, closing(open_store()) as other:
        job = make(one, 1)
        winner, loser = hold(2), stop(2)
        expect(
            bool(grow(one, job, 1, [winner], why="one")), "grow(one, job, 1, [winner], why='one')"
        )
        expect(
            not grow(other, job, 1, [loser], why="other"),
            "not grow(other, job, 1, [loser], why='other')",
        )
        expect_same(other.load(job, after=1), (winner,), "other.load(job, after=1)")
        expect_same(other.summary(job).why, "one", "other.summary(job).why")


@check()
async def an_append_beyond_the_last_version_writes_nothing(open_store: OpenStore) -> None:
    """A writer that knows more than the record knows another record (12, R1)."""
    with closing(open_store()) as store:
        job = make(store, 1)
        expect(not grow(store, job, 2, [hold(3)]), "not grow(store, job, 2, [hold(3)])")
        expect_same(len(store.load(job)), 1, "len(store.load(job))")


@check()
async def an_append_writes_its_summary_with_it(open_store: OpenStore) -> None:
    """Lists and the due queue never say anything else than the record (04)."""
    with closing(open_store()) as store:
        job = make(store, 1)
        wanted = summary(
            job,
            2,
            state=State.FAILED,
            cause=Cause.NODE_LOST,
            submission=3,
            labels={"team": "vision", "a.b/c": "d"},
            key="nightly",
            spec_hash="cd" * 32,
            finished=True,
            due=None,
            why="node17 was lost",
            updated_at=NOW + SECOND,
        )
        expect(
            bool(store.append(job, 1, [end(2)], wanted)), "store.append(job, 1, [end(2)], wanted)"
        )
        expect_same(store.summary(job), wanted, "store.summary(job)")


@check()
async def entries_with_a_gap_or_of_another_version_are_refused(open_store: OpenStore) -> None:
    """A record is version 1, 2, 3, and each says which it is (04)."""
    with closing(open_store()) as store:
        job = make(store, 1)
        for entries in ([], [hold(3)], [hold(2), hold(4)], [hold(1)]):
            with refused(Invalid):
                store.append(job, 1, entries, summary(job, 1 + len(entries)))
        with refused(Invalid):
            store.append(job, 1, [hold(2)], summary(job, 3))
        with refused(Invalid):
            store.append(job, 1, [hold(2)], summary(job_id(2), 2))
        expect_same(len(store.load(job)), 1, "len(store.load(job))")


@check()
async def the_same_append_again_is_settled_and_written_once(open_store: OpenStore) -> None:
    """An append of unknown outcome is settled by its nonce (12, T3)."""
    with closing(open_store()) as store:
        job = make(store, 1)
        entries = [hold(2), hold(3)]
        expect(bool(grow(store, job, 1, entries)), "grow(store, job, 1, entries)")
        expect(bool(grow(store, job, 1, entries)), "grow(store, job, 1, entries)")
        expect(bool(grow(store, job, 3, [hold(4)])), "grow(store, job, 3, [hold(4)])")
        expect(bool(grow(store, job, 1, entries)), "grow(store, job, 1, entries)")
        expect(
            not grow(store, job, 1, [entries[0], hold(3)]),
            "not grow(store, job, 1, [entries[0], hold(3)])",
        )
        expect_same(
            [entry.version for entry in store.load(job)],
            [1, 2, 3, 4],
            "[entry.version for entry in store.load(job)]",
        )


@check()
async def a_nonce_serves_one_append_only(open_store: OpenStore) -> None:
    """One that came back elsewhere would settle a write that never was (12, T3)."""
    with closing(open_store()) as store:
        job, other = make(store, 1), make(store, 2)
        expect(
            bool(grow(store, job, 1, [hold(2, nonce="mine"), hold(3, nonce="mine")])),
            "grow(store, job, 1, [hold(2, nonce='mine'), hold(3, nonce='mine')])",
        )
        for target, expected in ((job, 3), (other, 1)):
            with refused(Conflict):
                grow(store, target, expected, [hold(expected + 1, nonce="mine")])
        expect_same(len(store.load(job)), 3, "len(store.load(job))")
        expect_same(len(store.load(other)), 1, "len(store.load(other))")


@check()
async def nothing_is_found_of_a_job_that_is_not_there(open_store: OpenStore) -> None:
    """And the refusal names it, since it may have been mistyped (02, errors)."""
    with closing(open_store()) as store:
        make(store, 1)
        missing = job_id(2)
        for ask in (
            lambda: store.load(missing),
            lambda: store.summary(missing),
            lambda: grow(store, missing, 1, [hold(2)]),
            lambda: store.reschedule(missing, NOW),
        ):
            with refused(NotFound, naming=missing):
                ask()


@check()
async def a_newer_writers_event_closes_that_job_alone(open_store: OpenStore) -> None:
    """An older supervisor stops touching that job, says so, and goes on with the others (12, T4)."""
    with closing(open_store()) as store:
        newer, job = make(store, 1), make(store, 2)
        expect(
            bool(grow(store, newer, 1, [hold(2, schema=SCHEMA + 1), hold(3)])),
            "grow(store, newer, 1, [hold(2, schema=SCHEMA + 1), hold(3)])",
        )
        with refused(NewerSchema, naming=newer):
            store.load(newer)
        with refused(NewerSchema, naming=newer):
            store.load(newer, after=3)
        with refused(NewerSchema, naming=newer):
            grow(store, newer, 3, [hold(4)])
        expect(bool(grow(store, job, 1, [hold(2)])), "grow(store, job, 1, [hold(2)])")
        expect_same(len(store.load(job)), 2, "len(store.load(job))")
        expect_same(
            {found.id for found in store.list(Query())},
            {newer, job},
            "{found.id for found in store.list(Query())}",
        )


# --------------------------------------------------------------------- idempotence


@check()
async def a_key_that_is_taken_gives_the_job_that_has_it(open_store: OpenStore) -> None:
    """A submission whose reply was lost is simply made again (02, protocol 9)."""
    with closing(open_store()) as store:
        job = make(store, 1, key="nightly", spec_hash="one")
        grow(store, job, 1, [hold(2)], key="nightly", spec_hash="one", why="held")
        found = store.create(header(job_id(2)), summary(job_id(2), key="nightly", spec_hash="two"))
        expect_same(
            (found.id, found.spec_hash, found.version, found.why),
            (job, "one", 2, "held"),
            "(found.id, found.spec_hash, found.version, found.why)",
        )
        with refused(NotFound):
            store.summary(job_id(2))


@check()
async def a_key_stays_taken_when_its_job_has_ended(open_store: OpenStore) -> None:
    """The same submission a day later is the same job still (02, protocol 9)."""
    with closing(open_store()) as store:
        job = make(store, 1, key="nightly")
        grow(store, job, 1, [end(2)], key="nightly", finished=True, due=None)
        expect_same(
            store.create(header(job_id(2)), summary(job_id(2), key="nightly")).id,
            job,
            "store.create(header(job_id(2)), summary(job_id(2), key='nightly')).id",
        )


@check()
async def jobs_without_a_key_never_meet(open_store: OpenStore) -> None:
    """No key is not a key that all of them share (02, protocol 9)."""
    with closing(open_store()) as store:
        expect_same(
            store.create(header(job_id(1)), summary(job_id(1))).id,
            job_id(1),
            "store.create(header(job_id(1)), summary(job_id(1))).id",
        )
        expect_same(
            store.create(header(job_id(2)), summary(job_id(2))).id,
            job_id(2),
            "store.create(header(job_id(2)), summary(job_id(2))).id",
        )


@check()
async def the_same_create_again_is_settled_and_another_of_its_id_is_refused(
    open_store: OpenStore,
) -> None:
    """A create of unknown outcome is settled as an append is (12, T3)."""
    with closing(open_store()) as store:
        first = header(job_id(1))
        store.create(first, summary(job_id(1)))
        grow(store, job_id(1), 1, [hold(2)])
        expect_same(
            store.create(first, summary(job_id(1))).version,
            2,
            "store.create(first, summary(job_id(1))).version",
        )
        with refused(Conflict):
            store.create(header(job_id(1)), summary(job_id(1)))
