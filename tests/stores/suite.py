"""What every record store must do, whatever it is made of: one check a function, and its name says what holds.

A check takes ``open_store``; each call of it opens the same records once more, and they begin empty. Whoever calls closes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest
from stores.samples import (
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

from dispatch.model.epoch import is_ulid
from dispatch.model.errors import Conflict, Invalid, NewerSchema, NotFound
from dispatch.model.journal import SCHEMA
from dispatch.model.status import Cause, State
from dispatch.spi.store import Heartbeat, Query, Store

OpenStore = Callable[[], Store]
Check = Callable[[OpenStore], None]

CHECKS: list[Check] = []


def check(function: Check) -> Check:
    """Add a check to the suite."""
    CHECKS.append(function)
    return function


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


# ----------------------------------------------------------------------- questions


@check
def a_job_is_resolved_by_id_prefix_key_and_name(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        job = make(store, 1, key="nightly", name="resnet")
        for text in (job, job.lower(), job[:6], job[:25].lower(), "nightly", "resnet"):
            assert [found.id for found in store.resolve(text)] == [job], text
        for text in (job[:5], "Nightly", "resne", "", "%", "______", f"{job}0"):
            assert store.resolve(text) == (), text


@check
def an_ambiguous_text_gives_every_job_newest_first(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        older = make(store, 1, accepted_at=NOW)
        newer = make(store, 2, accepted_at=NOW + SECOND)
        assert [found.id for found in store.resolve(older[:10])] == [newer, older]
        assert [found.id for found in store.resolve("train")] == [newer, older]


@check
def a_job_named_like_anothers_id_or_key_is_not_taken_for_it(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        job = make(store, 1, key="nightly")
        make(store, 2, name=job)
        make(store, 3, name="nightly")
        assert [found.id for found in store.resolve(job)] == [job]
        assert [found.id for found in store.resolve("nightly")] == [job]


@check
def a_list_is_newest_first_and_at_most_as_long_as_asked(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        jobs = [make(store, n, accepted_at=NOW + SECOND * (n // 2)) for n in range(1, 6)]
        assert [found.id for found in store.list(Query())] == jobs[::-1]
        assert [found.id for found in store.list(Query(limit=2))] == [jobs[4], jobs[3]]
        assert store.list(Query(limit=0)) == ()


@check
def every_field_of_a_query_narrows(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        plain = make(store, 1)
        odd = make(
            store,
            2,
            state=State.FAILED,
            cause=Cause.NODE_LOST,
            cluster="small",
            user="bob",
            name="eval",
            labels={"team": "vision", "q\"'.$": "%_"},
            finished=True,
            due=None,
            accepted_at=NOW + SECOND,
        )
        for query in (
            Query(finished=True),
            Query(states=(State.FAILED, State.SUCCEEDED)),
            Query(causes=(Cause.NODE_LOST,)),
            Query(cluster="small"),
            Query(user="bob"),
            Query(name="eval"),
            Query(labels={"team": "vision"}),
            Query(labels={"team": "vision", "q\"'.$": "%_"}),
            Query(since=NOW + SECOND),
            Query(finished=True, cluster="small", user="bob"),
        ):
            assert [found.id for found in store.list(query)] == [odd], query
        for query in (
            Query(finished=False),
            Query(states=(State.PENDING,)),
            Query(until=NOW + SECOND),
            Query(finished=False, until=NOW + SECOND),
        ):
            assert [found.id for found in store.list(query)] == [plain], query
        for query in (
            Query(labels={"team": "visio"}),
            Query(labels={"team": "vision", "b": "c"}),
            Query(cluster="small", user="ada"),
            Query(since=NOW + SECOND, until=NOW + SECOND),
        ):
            assert store.list(query) == (), query


@check
def due_are_unfinished_jobs_whose_time_has_come_the_longest_first(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        later = make(store, 1, due=NOW)
        first = make(store, 2, due=NOW - SECOND)
        make(store, 3, due=NOW + SECOND)
        make(store, 4, due=None)
        make(store, 5, due=NOW - SECOND, finished=True)
        assert [found.id for found in store.due(NOW, 10)] == [first, later]
        assert [found.id for found in store.due(NOW, 1)] == [first]
        assert store.due(NOW - SECOND * 2, 10) == ()


@check
def rescheduling_moves_a_job_in_the_queue_and_adds_no_event(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        job = make(store, 1, due=NOW)
        store.reschedule(job, NOW + SECOND)
        assert store.due(NOW, 10) == ()
        assert store.due(NOW + SECOND, 10)[0].due == NOW + SECOND
        store.reschedule(job, None)
        assert store.due(NOW + SECOND, 10) == ()
        assert store.summary(job).version == 1
        assert grow(store, job, 1, [hold(2)], due=NOW)
        assert [found.id for found in store.due(NOW, 10)] == [job]


# ------------------------------------------------------------------------ claiming


@check
def a_live_claim_keeps_others_away_until_it_expires(open_store: OpenStore) -> None:
    with closing(open_store()) as one, closing(open_store()) as other:
        job, free = make(one, 1), make(one, 2)
        until = NOW + SECOND
        assert one.claim([job], "one", until, NOW) == {job}
        assert other.claim([job, free], "other", until, NOW) == {free}
        assert other.claim([job], "other", until, until - SECOND / 1000) == frozenset()
        assert other.claim([job], "other", until + SECOND, until) == {job}
        assert one.claim([job], "one", until + SECOND, until) == frozenset()


@check
def an_owner_renews_its_own_claims(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        job = make(store, 1)
        assert store.claim([job], "one", NOW + SECOND, NOW) == {job}
        assert store.claim([job], "one", NOW + SECOND * 9, NOW) == {job}
        assert store.claim([job], "other", NOW + SECOND * 9, NOW + SECOND * 2) == frozenset()


@check
def giving_up_claims_frees_the_owners_jobs_only(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        job, other = make(store, 1), make(store, 2)
        until = NOW + SECOND
        store.claim([job], "one", until, NOW)
        store.claim([other], "two", until, NOW)
        store.unclaim("one")
        assert store.claim([job, other], "three", until, NOW) == {job}


@check
def nothing_is_claimed_of_jobs_that_are_not_there(open_store: OpenStore) -> None:
    with closing(open_store()) as store:
        assert store.claim([job_id(9)], "one", NOW + SECOND, NOW) == frozenset()
        assert store.claim([], "one", NOW + SECOND, NOW) == frozenset()


@check
def a_claim_hinders_no_append(open_store: OpenStore) -> None:
    with closing(open_store()) as one, closing(open_store()) as other:
        job = make(one, 1)
        one.claim([job], "one", NOW + SECOND, NOW)
        assert grow(other, job, 1, [end(2)], finished=True, due=None)


@check
def supervisors_are_seen_while_they_beat(open_store: OpenStore) -> None:
    beat = Heartbeat(id="s1", host="login1", pid=7, version="1.0", seen=NOW, clusters=("big", "s"))
    with closing(open_store()) as one, closing(open_store()) as other:
        one.beat(beat)
        assert other.heartbeats(NOW) == (beat,)
        assert other.heartbeats(NOW + SECOND) == ()
        later = Heartbeat(id="s1", host="login1", pid=7, version="1.0", seen=NOW + SECOND)
        one.beat(later)
        assert other.heartbeats(NOW) == (later,)
        one.unbeat("s1")
        one.unbeat("s1")
        assert other.heartbeats(NOW) == ()
