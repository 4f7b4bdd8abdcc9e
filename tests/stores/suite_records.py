"""The store suite, first part: records, and what makes them safe to write twice."""

from __future__ import annotations

from contextlib import closing

import pytest

from dispatch.model.epoch import is_ulid
from dispatch.model.errors import Conflict, Invalid, NewerSchema, NotFound
from dispatch.model.journal import SCHEMA
from dispatch.model.status import Cause, State
from dispatch.spi.store import Query
from stores.checking import OpenStore, check
from stores.samples import NOW, SECOND, end, grow, header, hold, job_id, make, stop, summary

# ------------------------------------------------------------------------ identity


@check
def a_store_keeps_the_identity_it_was_made_with(open_store: OpenStore) -> None:
    with closing(open_store()) as first, closing(open_store()) as second:
        assert is_ulid(first.id)
        assert first.id == second.id
    with closing(open_store()) as third:
        assert third.id == first.id


@check
def a_store_says_where_the_records_are(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        assert store.place


@check
def a_store_is_closed_twice_without_harm(open_store: OpenStore) -> None:
    store = open_store()
    store.close()
    store.close()


# ------------------------------------------------------------------------- records


@check
def an_entry_is_loaded_as_it_was_written(open_store: OpenStore) -> None:
    first, second, third = header(job_id(1)), hold(2), stop(3)
    with closing(open_store()) as store:
        store.create(first, summary(job_id(1)))
        assert grow(store, job_id(1), 1, [second, third])
    with closing(open_store()) as store:
        assert store.load(job_id(1)) == (first, second, third)


@check
def loading_after_a_version_gives_only_what_follows(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        job = make(store, 1)
        grow(store, job, 1, [hold(2), hold(3)])
        assert [entry.version for entry in store.load(job, after=1)] == [2, 3]
        assert store.load(job, after=3) == ()
        assert store.load(job, after=9) == ()


@check
def of_two_appends_on_one_version_the_first_wins_and_the_second_writes_nothing(
    open_store: OpenStore,
) -> None:
    with closing(open_store()) as one, closing(open_store()) as other:
        job = make(one, 1)
        winner, loser = hold(2), stop(2)
        assert grow(one, job, 1, [winner], why="one")
        assert not grow(other, job, 1, [loser], why="other")
        assert other.load(job, after=1) == (winner,)
        assert other.summary(job).why == "one"


@check
def an_append_beyond_the_last_version_writes_nothing(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        job = make(store, 1)
        assert not grow(store, job, 2, [hold(3)])
        assert len(store.load(job)) == 1


@check
def an_append_writes_its_summary_with_it(open_store: OpenStore) -> None:
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
        assert store.append(job, 1, [end(2)], wanted)
        assert store.summary(job) == wanted


@check
def entries_with_a_gap_or_of_another_version_are_refused(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        job = make(store, 1)
        for entries in ([], [hold(3)], [hold(2), hold(4)], [hold(1)]):
            with pytest.raises(Invalid):
                store.append(job, 1, entries, summary(job, 1 + len(entries)))
        with pytest.raises(Invalid):
            store.append(job, 1, [hold(2)], summary(job, 3))
        with pytest.raises(Invalid):
            store.append(job, 1, [hold(2)], summary(job_id(2), 2))
        assert len(store.load(job)) == 1


@check
def the_same_append_again_is_settled_and_written_once(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        job = make(store, 1)
        entries = [hold(2), hold(3)]
        assert grow(store, job, 1, entries)
        assert grow(store, job, 1, entries)
        assert grow(store, job, 3, [hold(4)])
        assert grow(store, job, 1, entries)
        assert not grow(store, job, 1, [entries[0], hold(3)])
        assert [entry.version for entry in store.load(job)] == [1, 2, 3, 4]


@check
def a_nonce_serves_one_append_only(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        job, other = make(store, 1), make(store, 2)
        assert grow(store, job, 1, [hold(2, nonce="mine"), hold(3, nonce="mine")])
        for target, expected in ((job, 3), (other, 1)):
            with pytest.raises(Conflict):
                grow(store, target, expected, [hold(expected + 1, nonce="mine")])
        assert len(store.load(job)) == 3
        assert len(store.load(other)) == 1


@check
def nothing_is_found_of_a_job_that_is_not_there(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        make(store, 1)
        missing = job_id(2)
        for ask in (
            lambda: store.load(missing),
            lambda: store.summary(missing),
            lambda: grow(store, missing, 1, [hold(2)]),
            lambda: store.reschedule(missing, NOW),
        ):
            with pytest.raises(NotFound, match=missing):
                ask()


@check
def a_newer_writers_event_closes_that_job_alone(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        newer, job = make(store, 1), make(store, 2)
        assert grow(store, newer, 1, [hold(2, schema=SCHEMA + 1), hold(3)])
        with pytest.raises(NewerSchema, match=newer):
            store.load(newer)
        with pytest.raises(NewerSchema, match=newer):
            store.load(newer, after=3)
        with pytest.raises(NewerSchema, match=newer):
            grow(store, newer, 3, [hold(4)])
        assert grow(store, job, 1, [hold(2)])
        assert len(store.load(job)) == 2
        assert {found.id for found in store.list(Query())} == {newer, job}


# --------------------------------------------------------------------- idempotence


@check
def a_key_that_is_taken_gives_the_job_that_has_it(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        job = make(store, 1, key="nightly", spec_hash="one")
        grow(store, job, 1, [hold(2)], key="nightly", spec_hash="one", why="held")
        found = store.create(header(job_id(2)), summary(job_id(2), key="nightly", spec_hash="two"))
        assert (found.id, found.spec_hash, found.version, found.why) == (job, "one", 2, "held")
        with pytest.raises(NotFound):
            store.summary(job_id(2))


@check
def a_key_stays_taken_when_its_job_has_ended(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        job = make(store, 1, key="nightly")
        grow(store, job, 1, [end(2)], key="nightly", finished=True, due=None)
        assert store.create(header(job_id(2)), summary(job_id(2), key="nightly")).id == job


@check
def jobs_without_a_key_never_meet(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        assert store.create(header(job_id(1)), summary(job_id(1))).id == job_id(1)
        assert store.create(header(job_id(2)), summary(job_id(2))).id == job_id(2)


@check
def the_same_create_again_is_settled_and_another_of_its_id_is_refused(
    open_store: OpenStore,
) -> None:
    with closing(open_store()) as store:
        first = header(job_id(1))
        store.create(first, summary(job_id(1)))
        grow(store, job_id(1), 1, [hold(2)])
        assert store.create(first, summary(job_id(1))).version == 2
        with pytest.raises(Conflict):
            store.create(header(job_id(1)), summary(job_id(1)))
