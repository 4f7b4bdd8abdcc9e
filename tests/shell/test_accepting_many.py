"""Jobs that are accepted together: each as if it were submitted alone, by one transaction."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dispatch.model.errors import Conflict, DispatchError, Refused, StoreError
from dispatch.model.job import Job
from dispatch.model.plan import Plan
from dispatch.shell.operator import Submitted
from dispatch.spi.store import Creation, Query, Summary
from shell.world import World, run


def job(name: str, key: str | None = None, *, command: str = "train") -> Job:
    return Job(command=(command,), cluster="c", name=name, key=key)


def submit(world: World, *jobs: Job) -> list[Submitted | DispatchError]:
    return run(world.process.operator.submit_all(jobs))


def test_jobs_that_are_accepted_together_are_one_transaction(world: World) -> None:
    made: list[int] = []
    create_all = world.store.create_all

    def counted(creations: Sequence[Creation]) -> tuple[Summary | DispatchError, ...]:
        made.append(len(creations))
        return create_all(creations)

    world.store.create_all = counted  # type: ignore[method-assign]
    answers = submit(world, *(job(f"job-{number}") for number in range(20)))
    assert made == [20]
    names = [one.summary.name for one in answers if isinstance(one, Submitted) and one.created]
    assert names == [f"job-{number}" for number in range(20)]
    assert len(world.store.list(Query())) == 20


def test_of_jobs_with_keys_each_is_told_alone(world: World) -> None:
    (known,) = submit(world, job("first", "known"))
    assert isinstance(known, Submitted)
    again, other, new, twice, clash, last = submit(
        world,
        job("first", "known"),
        job("first", "known", command="another"),
        job("second", "new"),
        job("second", "new"),
        job("third", "new", command="another"),
        job("last"),
    )
    assert isinstance(again, Submitted)
    assert (again.id, again.created) == (known.id, False)
    assert isinstance(other, Conflict)
    assert isinstance(new, Submitted)
    assert isinstance(twice, Submitted)
    assert (twice.id, new.created, twice.created) == (new.id, True, False)
    assert isinstance(clash, Conflict)
    assert isinstance(last, Submitted)
    assert {one.id for one in world.store.list(Query())} == {known.id, new.id, last.id}


def test_where_one_of_them_cannot_be_honoured_none_is_accepted(world: World) -> None:
    operator = world.process.operator
    plan = operator.plan

    async def choosy(job: Job) -> Plan:
        if job.name == "bad":
            raise Refused("It cannot be honoured.", reasons=())
        return await plan(job)

    operator.plan = choosy  # type: ignore[method-assign]
    with pytest.raises(Refused):
        submit(world, job("fine"), job("bad"))
    assert world.store.list(Query()) == ()


def test_where_the_records_cannot_be_written_none_is_accepted(world: World) -> None:
    def full(creations: Sequence[Creation]) -> tuple[Summary | DispatchError, ...]:
        raise StoreError(f"the disk is full: {len(creations)} jobs")

    world.store.create_all = full  # type: ignore[method-assign]
    with pytest.raises(StoreError):
        submit(world, job("one"), job("two"))
    assert world.store.list(Query()) == ()
