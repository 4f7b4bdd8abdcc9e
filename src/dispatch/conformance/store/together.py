"""The store suite: many appends at once, each as if it were made alone.

A store that has no ``append_all`` of its own keeps these by ``append``.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

from dispatch.conformance.store.samples import (
    NOW,
    SECOND,
    end,
    header,
    hold,
    job_id,
    make,
    stop,
    summary,
)
from dispatch.conformance.store.suite import OpenStore, check
from dispatch.conformance.verdicts import expect, expect_same, refused
from dispatch.model.errors import Conflict, Invalid, NewerSchema, NotFound
from dispatch.model.journal import SCHEMA, Entry
from dispatch.spi.store import Added, Addition, Creation, Query, Store, append_all, create_all


def addition(job: str, expected: int, *entries: Entry, **fields: object) -> Addition:
    """An append of these entries, with the summary of them."""
    after = summary(job, expected + len(entries), **fields)
    return Addition(job=job, expected=expected, entries=entries, summary=after)


def told(answers: Sequence[Added]) -> list[object]:
    """The answers, with the kind of an error in its place."""
    return [type(one) if isinstance(one, Exception) else one for one in answers]


def nonces(store: Store, job: str) -> list[str]:
    """The nonces of a job's events after its header."""
    return [entry.nonce for entry in store.load(job, after=1)]


@check()
async def many_appends_at_once_are_each_as_one_alone(open_store: OpenStore) -> None:
    """What a round learns is written together, and means the same as if it were not (04)."""
    with closing(open_store()) as store:
        jobs = [make(store, number, key=f"key {number}") for number in range(1, 71)]
        many = [
            addition(job, 1, hold(2), stop(3), key=f"key {number}", why=f"now {number}")
            for number, job in enumerate(jobs, 1)
        ]
        expect_same(list(append_all(store, many)), [True] * 70, "append_all(store, many)")
    with closing(open_store()) as store:
        for one in many:
            expect_same(store.load(one.job, after=1), one.entries, "store.load(one.job, after=1)")
            expect_same(store.summary(one.job), one.summary, "store.summary(one.job)")


@check()
async def no_appends_at_once_are_no_fault(open_store: OpenStore) -> None:
    """A round in which nothing happened writes nothing (04)."""
    with closing(open_store()) as store:
        expect_same(list(append_all(store, [])), [], "append_all(store, [])")


@check()
async def of_many_appends_those_that_are_refused_leave_the_others_alone(
    open_store: OpenStore,
) -> None:
    """A fault in one job never stops the others (04)."""
    with closing(open_store()) as store, closing(open_store()) as other:
        good, behind, newer, spent, gap, last = (make(store, number) for number in range(1, 7))
        other.append(behind, 1, [stop(2)], summary(behind, 2, why="the other was first"))
        other.append(newer, 1, [hold(2, schema=SCHEMA + 1)], summary(newer, 2))
        other.append(good, 1, [hold(2, nonce="used")], summary(good, 2))
        refused_ones = [
            addition(behind, 1, hold(2)),
            addition(newer, 2, hold(3)),
            addition(spent, 1, hold(2), hold(3, nonce="used")),
            addition(gap, 1, hold(3)),
            addition(job_id(99), 1, hold(2)),
        ]
        many = [addition(good, 2, hold(3)), *refused_ones, addition(last, 1, hold(2))]
        expect_same(
            told(append_all(store, many)),
            [True, False, NewerSchema, Conflict, Invalid, NotFound, True],
            "told(append_all(store, many))",
        )
        for job in (spent, gap):
            expect_same(nonces(store, job), [], "nonces(store, job)")
            expect_same(store.summary(job).version, 1, "store.summary(job).version")
        expect_same(store.summary(behind).why, "the other was first", "store.summary(behind).why")
        expect_same(len(nonces(store, good)), 2, "len(nonces(store, good))")
        expect_same(len(nonces(store, last)), 1, "len(nonces(store, last))")
        # What was refused for a nonce is whole with another one: nothing of it was left behind.
        anew = [addition(spent, 1, hold(2), hold(3))]
        expect_same(list(append_all(store, anew)), [True], "append_all(store, anew)")


@check()
async def the_same_many_appends_again_are_settled_and_written_once(open_store: OpenStore) -> None:
    """A crash in the midst leaves some of them made, and the nonces tell which (12, T3)."""
    with closing(open_store()) as store:
        first, second, third = (make(store, number) for number in range(1, 4))
        many = [addition(first, 1, hold(2), hold(3)), addition(second, 1, hold(2))]
        expect_same(list(append_all(store, many)), [True, True], "append_all(store, many)")
        # Some of them are there already, as after a crash in the midst.
        more = [*many, addition(third, 1, hold(2))]
        expect_same(list(append_all(store, more)), [True] * 3, "append_all(store, more)")
        expect_same(list(append_all(store, more)), [True] * 3, "append_all(store, more)")
        rivals = [addition(first, 1, hold(2), hold(3)), addition(third, 2, hold(3))]
        expect_same(list(append_all(store, rivals)), [False, True], "append_all(store, rivals)")
        expect_same(
            [len(nonces(store, job)) for job in (first, second, third)],
            [2, 1, 2],
            "[len(nonces(store, job)) for job in (first, second, third)]",
        )


@check()
async def of_many_appends_a_nonce_serves_one_only(open_store: OpenStore) -> None:
    """Within one call as between two (12, T3)."""
    with closing(open_store()) as store:
        first, second = make(store, 1), make(store, 2)
        many = [
            addition(first, 1, hold(2, nonce="mine")),
            addition(second, 1, hold(2, nonce="mine")),
        ]
        expect_same(
            told(append_all(store, many)), [True, Conflict], "told(append_all(store, many))"
        )
        expect_same(nonces(store, second), [], "nonces(store, second)")


@check()
async def many_appends_end_jobs_and_set_when_they_are_looked_at(open_store: OpenStore) -> None:
    """The summaries are written with them, the due queue included (04)."""
    with closing(open_store()) as store:
        first, second, third = (make(store, number, due=NOW + SECOND) for number in range(1, 4))
        many = [
            addition(first, 1, end(2), finished=True, due=None),
            addition(second, 1, hold(2), due=NOW),
            addition(third, 1, hold(2), due=NOW + SECOND * 60),
        ]
        expect_same(list(append_all(store, many)), [True] * 3, "append_all(store, many)")
        expect_same(
            [one.id for one in store.due(NOW + SECOND, 10)],
            [second],
            "[one.id for one in store.due(NOW + SECOND, 10)]",
        )
        expect_same(
            {one.id for one in store.list(Query(finished=True))},
            {first},
            "{one.id for one in store.list(Query(finished=True))}",
        )


@check()
async def of_many_writers_at_once_one_wins_each_job(open_store: OpenStore) -> None:
    """The compare-and-set is each job's own: a job that was lost takes no other along (04)."""
    with closing(open_store()) as one, closing(open_store()) as other:
        jobs = [make(one, number) for number in range(1, 21)]
        mine = [addition(job, 1, hold(2), why="one") for job in jobs[:15]]
        theirs = [addition(job, 1, stop(2), why="other") for job in jobs[5:]]
        expect(all(append_all(one, mine)), "all(append_all(one, mine))")
        answers: list[Added] = list(append_all(other, theirs))
        expect_same(answers, [False] * 10 + [True] * 5, "append_all(other, theirs)")
        whys = [one.summary(job).why for job in jobs]
        expect_same(whys, ["one"] * 15 + ["other"] * 5, "[one.summary(job).why for job in jobs]")


@check()
async def a_job_that_comes_twice_in_many_appends_is_refused(open_store: OpenStore) -> None:
    """What the second would stand on is not decided, so nothing of the call is written (04)."""
    with closing(open_store()) as store:
        job, other = make(store, 1), make(store, 2)
        many = [addition(other, 1, hold(2)), addition(job, 1, hold(2)), addition(job, 2, hold(3))]
        with refused(Invalid, naming=job):
            append_all(store, many)
        expect_same([store.summary(one).version for one in (job, other)], [1, 1], "versions")


@check()
async def many_jobs_that_are_made_at_once_are_each_as_one_alone(open_store: OpenStore) -> None:
    """A key that is taken, by an older job or by one of the same call, gives the job that has it (02, protocol 9)."""
    with closing(open_store()) as store:
        taken = make(store, 1, key="taken", why="the first")
        many = [
            creation(2, why="new"),
            creation(3, key="taken"),
            creation(4, key="twice", why="the one that has it"),
            creation(5, key="twice"),
            Creation(entry=header(taken), summary=summary(taken)),
            Creation(entry=hold(2), summary=summary(job_id(7), 2)),
            creation(8),
        ]
        answers = create_all(store, many)
        found = [one if isinstance(one, Exception) else (one.id, one.why) for one in answers]
        expect_same(found[0], (job_id(2), "new"), "a new one")
        expect_same(found[1], (taken, "the first"), "one whose key is taken")
        expect_same(found[2], (job_id(4), "the one that has it"), "a new one with a key")
        expect_same(found[3], (job_id(4), "the one that has it"), "the same key again")
        expect_same(
            [type(one) for one in found[4:6]], [Conflict, Invalid], "those that are refused"
        )
        expect_same(found[6], (job_id(8), ""), "one after those that are refused")
    with closing(open_store()) as store:
        there = {one.id for one in store.list(Query())}
        expect_same(there, {job_id(number) for number in (1, 2, 4, 8)}, "the jobs")
        nonce = store.load(job_id(4))[0].nonce
        expect_same(nonce, many[2].entry.nonce, "the nonce of its header")
        again = [many[0], many[2]]
        expect_same(list(create_all(store, again)), [one.summary for one in again], "again")


def creation(number: int, **fields: Any) -> Creation:
    """A new job."""
    job = job_id(number)
    return Creation(entry=header(job), summary=summary(job, **fields))
