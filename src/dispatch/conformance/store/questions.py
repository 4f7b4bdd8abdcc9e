"""The store suite, second part: what a store answers, and who is at work on it."""

from __future__ import annotations

from contextlib import closing

from dispatch.conformance.store.samples import NOW, SECOND, end, grow, hold, job_id, make
from dispatch.conformance.store.suite import OpenStore, check
from dispatch.conformance.verdicts import expect, expect_same
from dispatch.model.status import Cause, State
from dispatch.spi.store import Heartbeat, Query, Turn

NOBODY: frozenset[str] = frozenset()

# ----------------------------------------------------------------------- questions


@check()
async def a_job_is_resolved_by_id_prefix_key_and_name(open_store: OpenStore) -> None:
    """People name a job by what they have at hand; a prefix of six characters is the shortest that says anything (04)."""
    with closing(open_store()) as store:
        job = make(store, 1, key="nightly", name="resnet")
        for text in (job, job.lower(), job[:6], job[:25].lower(), "nightly", "resnet"):
            expect_same([found.id for found in store.resolve(text)], [job], f"{text}")
        for text in (job[:5], "Nightly", "resne", "", "%", "______", f"{job}0"):
            expect_same(store.resolve(text), (), f"{text}")


@check()
async def an_ambiguous_text_gives_every_job_newest_first(open_store: OpenStore) -> None:
    """A command then shows the choice, and guesses nothing (04)."""
    with closing(open_store()) as store:
        older = make(store, 1, accepted_at=NOW)
        newer = make(store, 2, accepted_at=NOW + SECOND)
        expect_same(
            [found.id for found in store.resolve(older[:10])],
            [newer, older],
            "[found.id for found in store.resolve(older[:10])]",
        )
        expect_same(
            [found.id for found in store.resolve("train")],
            [newer, older],
            "[found.id for found in store.resolve('train')]",
        )


@check()
async def a_job_named_like_anothers_id_or_key_is_not_taken_for_it(open_store: OpenStore) -> None:
    """A stop must not hit another job because of its name (02, protocol 7)."""
    with closing(open_store()) as store:
        job = make(store, 1, key="nightly")
        make(store, 2, name=job)
        make(store, 4, name=job.lower())
        make(store, 3, name="nightly")
        expect_same(
            [found.id for found in store.resolve(job)],
            [job],
            "[found.id for found in store.resolve(job)]",
        )
        expect_same(
            [found.id for found in store.resolve(job.lower())],
            [job],
            "[found.id for found in store.resolve(job.lower())]",
        )
        expect_same(
            [found.id for found in store.resolve("nightly")],
            [job],
            "[found.id for found in store.resolve('nightly')]",
        )


@check()
async def a_list_is_newest_first_and_at_most_as_long_as_asked(open_store: OpenStore) -> None:
    """100 000 finished jobs must not slow a look at the newest (04)."""
    with closing(open_store()) as store:
        jobs = [make(store, n, accepted_at=NOW + SECOND * (n // 2)) for n in range(1, 6)]
        expect_same(
            [found.id for found in store.list(Query())],
            jobs[::-1],
            "[found.id for found in store.list(Query())]",
        )
        expect_same(
            [found.id for found in store.list(Query(limit=2))],
            [jobs[4], jobs[3]],
            "[found.id for found in store.list(Query(limit=2))]",
        )
        expect_same(store.list(Query(limit=0)), (), "store.list(Query(limit=0))")


@check()
async def every_field_of_a_query_narrows(open_store: OpenStore) -> None:
    """Jobs are listed by state, cause, label, user and time, and a text in them is no pattern (04)."""
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
            expect_same([found.id for found in store.list(query)], [odd], f"{query}")
        for query in (
            Query(finished=False),
            Query(states=(State.PENDING,)),
            Query(until=NOW + SECOND),
            Query(finished=False, until=NOW + SECOND),
        ):
            expect_same([found.id for found in store.list(query)], [plain], f"{query}")
        for query in (
            Query(labels={"team": "visio"}),
            Query(labels={"team": "vision", "b": "c"}),
            Query(cluster="small", user="ada"),
            Query(since=NOW + SECOND, until=NOW + SECOND),
        ):
            expect_same(store.list(query), (), f"{query}")


@check()
async def due_are_unfinished_jobs_whose_time_has_come_the_longest_first(
    open_store: OpenStore,
) -> None:
    """The supervisor works off a due queue and scans nothing; who has waited longest is next (04)."""
    with closing(open_store()) as store:
        later = make(store, 1, due=NOW)
        first = make(store, 2, due=NOW - SECOND)
        make(store, 3, due=NOW + SECOND)
        make(store, 4, due=None)
        make(store, 5, due=NOW - SECOND, finished=True)
        expect_same(
            [found.id for found in store.due(NOW, 10)],
            [first, later],
            "[found.id for found in store.due(NOW, 10)]",
        )
        expect_same(
            [found.id for found in store.due(NOW, 1)],
            [first],
            "[found.id for found in store.due(NOW, 1)]",
        )
        expect_same(store.due(NOW - SECOND * 2, 10), (), "store.due(NOW - SECOND * 2, 10)")


@check()
async def rescheduling_moves_a_job_in_the_queue_and_adds_no_event(open_store: OpenStore) -> None:
    """When to look again is a hint, and no part of what happened (04)."""
    with closing(open_store()) as store:
        job = make(store, 1, due=NOW)
        store.reschedule(job, NOW + SECOND)
        expect_same(store.due(NOW, 10), (), "store.due(NOW, 10)")
        expect_same(
            store.due(NOW + SECOND, 10)[0].due, NOW + SECOND, "store.due(NOW + SECOND, 10)[0].due"
        )
        store.reschedule(job, None)
        expect_same(store.due(NOW + SECOND, 10), (), "store.due(NOW + SECOND, 10)")
        expect_same(store.summary(job).version, 1, "store.summary(job).version")
        expect(
            bool(grow(store, job, 1, [hold(2)], due=NOW)), "grow(store, job, 1, [hold(2)], due=NOW)"
        )
        expect_same(
            [found.id for found in store.due(NOW, 10)],
            [job],
            "[found.id for found in store.due(NOW, 10)]",
        )


@check()
async def many_are_rescheduled_each_where_its_record_has_not_moved_on(
    open_store: OpenStore,
) -> None:
    """A time that was decided on an older version would let a new request be slept over (12, R1)."""
    with closing(open_store()) as one, closing(open_store()) as other:
        still, moved, judged_by_nobody = (make(one, number, due=NOW) for number in (1, 2, 3))
        expect_same(
            other.versions([still, moved]), {still: 1, moved: 1}, "other.versions([still, moved])"
        )
        expect(
            bool(grow(other, moved, 1, [hold(2)], due=NOW + SECOND)),
            "grow(other, moved, 1, [hold(2)], due=NOW + SECOND)",
        )
        one.reschedule_all(
            [
                Turn(job=job_id(9), due=NOW, version=1),
                Turn(job=moved, due=NOW + SECOND * 9, version=1),
                Turn(job=still, due=NOW + SECOND * 3, version=1),
                Turn(job=judged_by_nobody, due=NOW + SECOND * 2),
            ]
        )
        found = [(due.id, due.due, due.version) for due in one.due(NOW + SECOND * 99, 10)]
        expect_same(
            found,
            [
                (moved, NOW + SECOND, 2),
                (judged_by_nobody, NOW + SECOND * 2, 1),
                (still, NOW + SECOND * 3, 1),
            ],
            "found",
        )
        one.reschedule_all([Turn(job=moved, due=None, version=2)])
        one.reschedule_all([])
        expect(
            moved not in [due.id for due in other.due(NOW + SECOND * 99, 10)],
            "moved not in [due.id for due in other.due(NOW + SECOND * 99, 10)]",
        )


@check()
async def the_versions_of_many_jobs_are_those_of_their_last_events(open_store: OpenStore) -> None:
    """By one question a supervisor knows which of its folded views still stand (12, R1)."""
    with closing(open_store()) as one, closing(open_store()) as other:
        first, second = make(one, 1), make(one, 2, finished=True)
        expect_same(
            other.versions([first, second, job_id(9), "'\""]),
            {first: 1, second: 1},
            "other.versions([first, second, job_id(9), ''\\''])",
        )
        expect(
            bool(grow(one, first, 1, [hold(2), hold(3)])), "grow(one, first, 1, [hold(2), hold(3)])"
        )
        expect_same(other.versions((first,)), {first: 3}, "other.versions((first,))")
        expect_same(other.versions([]), {}, "other.versions([])")


# ------------------------------------------------------------------------ claiming


@check()
async def a_live_claim_keeps_others_away_until_it_expires(open_store: OpenStore) -> None:
    """Claims spread the jobs over the supervisors, and those of a dead one come free by themselves (04)."""
    with closing(open_store()) as one, closing(open_store()) as other:
        job, free = make(one, 1), make(one, 2)
        until = NOW + SECOND
        expect_same(
            one.claim([job], "one", until, NOW), {job}, "one.claim([job], 'one', until, NOW)"
        )
        expect_same(
            other.claim([job, free], "other", until, NOW),
            {free},
            "other.claim([job, free], 'other', until, NOW)",
        )
        expect_same(
            other.claim([job], "other", until, until - SECOND / 1000),
            NOBODY,
            "other.claim([job], 'other', until, until - SECOND / 1000)",
        )
        expect_same(
            other.claim([job], "other", until + SECOND, until),
            {job},
            "other.claim([job], 'other', until + SECOND, until)",
        )
        expect_same(
            one.claim([job], "one", until + SECOND, until),
            NOBODY,
            "one.claim([job], 'one', until + SECOND, until)",
        )


@check()
async def an_owner_renews_its_own_claims(open_store: OpenStore) -> None:
    """A long round loses none of its jobs (04)."""
    with closing(open_store()) as store:
        job = make(store, 1)
        expect_same(
            store.claim([job], "one", NOW + SECOND, NOW),
            {job},
            "store.claim([job], 'one', NOW + SECOND, NOW)",
        )
        expect_same(
            store.claim([job], "one", NOW + SECOND * 9, NOW),
            {job},
            "store.claim([job], 'one', NOW + SECOND * 9, NOW)",
        )
        expect_same(
            store.claim([job], "other", NOW + SECOND * 9, NOW + SECOND * 2),
            NOBODY,
            "store.claim([job], 'other', NOW + SECOND * 9, NOW + SECOND * 2)",
        )


@check()
async def giving_up_claims_frees_the_owners_jobs_only(open_store: OpenStore) -> None:
    """A supervisor that stops cleanly leaves its jobs to the others at once, and takes nobody else's along (04)."""
    with closing(open_store()) as store:
        job, other = make(store, 1), make(store, 2)
        until = NOW + SECOND
        store.claim([job], "one", until, NOW)
        store.claim([other], "two", until, NOW)
        store.unclaim("one")
        expect_same(
            store.claim([job, other], "three", until, NOW),
            {job},
            "store.claim([job, other], 'three', until, NOW)",
        )


@check()
async def nothing_is_claimed_of_jobs_that_are_not_there(open_store: OpenStore) -> None:
    """A claim on nothing would be work on nothing (04)."""
    with closing(open_store()) as store:
        expect_same(
            store.claim([job_id(9)], "one", NOW + SECOND, NOW),
            NOBODY,
            "store.claim([job_id(9)], 'one', NOW + SECOND, NOW)",
        )
        expect_same(
            store.claim([], "one", NOW + SECOND, NOW),
            NOBODY,
            "store.claim([], 'one', NOW + SECOND, NOW)",
        )


@check()
async def a_claim_hinders_no_append(open_store: OpenStore) -> None:
    """A claim saves work and protects nothing: the compare-and-set does, so that a person's stop is never kept out (04)."""
    with closing(open_store()) as one, closing(open_store()) as other:
        job = make(one, 1)
        one.claim([job], "one", NOW + SECOND, NOW)
        expect(
            bool(grow(other, job, 1, [end(2)], finished=True, due=None)),
            "grow(other, job, 1, [end(2)], finished=True, due=None)",
        )


@check()
async def supervisors_are_seen_while_they_beat(open_store: OpenStore) -> None:
    """A person is told whether anybody applies the policies, and of what is out of reach (04)."""
    beat = Heartbeat(id="s1", host="login1", pid=7, version="1.0", seen=NOW, clusters=("big", "s"))
    with closing(open_store()) as one, closing(open_store()) as other:
        one.beat(beat)
        expect_same(other.heartbeats(NOW), (beat,), "other.heartbeats(NOW)")
        expect_same(other.heartbeats(NOW + SECOND), (), "other.heartbeats(NOW + SECOND)")
        later = Heartbeat(id="s1", host="login1", pid=7, version="1.0", seen=NOW + SECOND)
        one.beat(later)
        expect_same(other.heartbeats(NOW), (later,), "other.heartbeats(NOW)")
        one.unbeat("s1")
        one.unbeat("s1")
        expect_same(other.heartbeats(NOW), (), "other.heartbeats(NOW)")
