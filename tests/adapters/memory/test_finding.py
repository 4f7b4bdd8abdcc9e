"""Finding objects again: by name, by ref, many at once, and when ids wrap."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from adapters.memory.bench import Bench, do, job_id
from dispatch.model.errors import Busy, NotFound
from dispatch.model.status import ObjectKey, State


def test_find_shows_every_object_of_the_job_and_nothing_else() -> None:
    bench = Bench()
    first, second = bench.start(1), bench.start(1, submission=2, store="another")
    bench.start(2)
    found = do(bench.backend.find(job_id(1))).observations
    assert [seen.ref for seen in found] == [first, second]
    assert found[1].key == ObjectKey(job=job_id(1), store="another", submission=2, attempt="a2")
    assert do(bench.backend.find(job_id(9))).observations == ()


def test_find_shows_ended_objects_too() -> None:
    bench = Bench()
    ref = bench.start()
    bench.stop(ref)
    assert [seen.state for seen in do(bench.backend.find(job_id())).observations] == [
        State.CANCELLED
    ]


@given(
    st.lists(st.sampled_from(["start", "queued", "running"]), max_size=6),
    st.lists(st.integers(1, 7), max_size=8),
)
def test_find_of_many_is_many_finds(lives: list[str], asked: list[int]) -> None:
    bench = Bench()
    for number, life in enumerate(lives, 1):
        getattr(bench, life)(number)
    jobs = [job_id(number) for number in asked]
    many = do(bench.backend.find_many(jobs))
    each = [do(bench.backend.find(job)) for job in dict.fromkeys(jobs)]
    assert many.observations == tuple(seen for one in each for seen in one.observations)
    assert {(one.sent, one.boot) for one in each} <= {(many.sent, many.boot)}


def test_inspect_is_what_find_shows() -> None:
    bench = Bench()
    ref = bench.running()
    assert do(bench.backend.find(job_id())).observations == (bench.see(ref),)


def test_ids_wrap_to_the_lowest_that_is_free() -> None:
    bench = Bench(maxJobId=3)
    first, second, third = (bench.start(number) for number in (1, 2, 3))
    with pytest.raises(Busy):
        bench.start(4)
    for ref in (second, first):
        bench.stop(ref)
        bench.env.purge_now(ref)
    wrapped = [bench.start(number).split(":")[0] for number in (4, 5)]
    assert wrapped == [first.split(":")[0], second.split(":")[0]]
    assert third.split(":")[0] == "3"


def test_ids_in_use_are_passed_over() -> None:
    bench = Bench(maxJobId=3)
    refs = [bench.start(number) for number in (1, 2, 3)]
    bench.stop(refs[1])
    bench.env.purge_now(refs[1])
    assert bench.start(4).split(":")[0] == refs[1].split(":")[0]


def test_an_object_under_a_used_id_is_not_the_old_one() -> None:
    bench = Bench(maxJobId=1)
    old = bench.start(1)
    bench.stop(old)
    bench.env.purge_now(old)
    new = bench.start(2)
    assert old.split(":")[0] == new.split(":")[0]
    with pytest.raises(NotFound):
        bench.see(old)
    with pytest.raises(NotFound):
        bench.stop(old)
    assert bench.see(new).state is State.PENDING
    assert bench.count(1) == 0


def test_a_job_can_be_named_to_the_environment_for_its_newest_object() -> None:
    bench = Bench()
    bench.start(submission=1)
    newest = bench.start(submission=2)
    assert bench.env.truth(job_id()).ref == newest
    with pytest.raises(NotFound):
        bench.env.truth(job_id(8))
