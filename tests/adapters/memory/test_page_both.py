"""The reference page, sentence by sentence: what holds for both shapes."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from adapters.memory.bench import HOLD_BASE, Bench, do, job_id, seconds
from dispatch.adapters.memory import MemoryBackend, Settings, call_start, open_memory
from dispatch.model.errors import Expired, Invalid, OutcomeUnknown, ReadOnly
from dispatch.model.status import Gate, State
from dispatch.spi import adapter as spi
from dispatch.spi.adapter import AdapterConfig, CallMeta, HoldMeta
from dispatch.spi.registry import adapter_names, open_backend
from dispatch.testing.clock import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

SHAPES = ["slurm", "kubeflow"]
OPTIONAL = [
    "Holder", "Requeuer", "NativePolicyCompiler", "Watcher", "CessationSignal", "IdentityWeakener",
    "MultiFinder", "MultiWriter", "Lister",
]  # fmt: skip


@pytest.fixture(params=SHAPES)
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(shape=request.param)


def writes(
    bench: Bench, view: MemoryBackend, ref: str
) -> list[Callable[[CallMeta], Coroutine[Any, Any, object]]]:
    order = bench.order(9)
    return [
        lambda meta: view.start(order, meta),
        lambda meta: view.open(ref, meta),
        lambda meta: view.stop(ref, meta),
        lambda meta: view.hold(ref, HoldMeta(deadline=meta.deadline, instance=2)),
        lambda meta: view.release(ref, 1, meta),
        lambda meta: view.requeue(ref, meta),
        lambda meta: view.restore_requeue_bit(ref, meta),
    ]  # fmt: skip


@pytest.mark.parametrize("name", OPTIONAL)
def test_it_implements_every_optional_interface_but_the_reading_of_output(
    bench: Bench, name: str
) -> None:
    assert isinstance(bench.backend, getattr(spi, name))
    assert not isinstance(bench.backend, spi.OutputReader)


def test_it_is_registered_under_the_name_memory() -> None:
    assert "memory" in adapter_names()
    config = AdapterConfig(adapter="memory", alias="m", settings={"shape": "kubeflow"})
    assert do(open_backend(config)).identity.version == "kubeflow"


def test_its_shape_is_slurm_unless_the_settings_say_kubeflow() -> None:
    assert open_memory().identity.version == "slurm"
    assert open_memory('{"shape": "kubeflow"}').identity.version == "kubeflow"
    assert open_memory(Settings(), alias="x").identity.alias == "x"


@pytest.mark.parametrize("document", [{"shape": "slurm", "more": 1}, '{"shape": "slurm"} {}'])
def test_an_unknown_field_or_trailing_data_is_invalid(document: Any) -> None:
    with pytest.raises(Invalid):
        open_memory(document)


def test_a_read_only_view_refuses_every_write_and_reads_all(bench: Bench) -> None:
    ref = bench.queued()
    bench.hold(ref, 1)
    before = bench.env.truths()
    view = bench.env.view(read_only=True)
    for write in writes(bench, view, ref):
        with pytest.raises(ReadOnly):
            do(write(bench.meta()))
    assert bench.env.truths() == before
    assert do(view.inspect(ref)) == bench.see(ref)


def test_a_call_that_starts_after_its_deadline_does_nothing(bench: Bench) -> None:
    ref = bench.queued()
    bench.hold(ref, 1)
    before = bench.env.truths()
    deadline = bench.clock.now() - seconds(1)
    supported = writes(bench, bench.backend, ref)[
        : 7 if bench.backend.identity.version == "slurm" else 5
    ]
    for write in supported:
        with pytest.raises(Expired):
            do(write(CallMeta(deadline=deadline)))
    assert bench.env.truths() == before


def test_the_start_of_a_call_is_now_unless_the_context_carries_another(bench: Bench) -> None:
    ref, deadline = bench.start(), bench.clock.now() + seconds(10)
    with call_start(deadline + seconds(1)), pytest.raises(Expired):
        do(bench.backend.open(ref, CallMeta(deadline=deadline)))
    bench.pass_time(11)
    with call_start(deadline):
        do(bench.backend.open(ref, CallMeta(deadline=deadline)))
    assert bench.see(ref).gate is Gate.OPEN


def test_views_share_one_world(bench: Bench) -> None:
    ref, other = bench.start(), bench.env.view()
    do(other.open(ref, bench.meta()))
    assert bench.see(ref).gate is Gate.OPEN
    assert other.env.truths() == bench.env.truths()


def test_each_execution_has_an_opaque_attempt_and_a_rising_epoch(bench: Bench) -> None:
    for submission in (1, 2):
        ref = bench.running(submission=submission)
        bench.env.finish(ref)
    executions = [one for truth in bench.env.truths() for one in truth.executions]
    assert [one.epoch for one in executions] == [1_000_000, 2_000_000]
    assert len({one.attempt for one in executions}) == 2


def test_two_live_executions_of_one_job_are_told_as_an_overlap(bench: Bench) -> None:
    settings = {"fence": False, "shape": bench.backend.identity.version}
    bench = Bench(**settings)
    bench.running()
    bench.running(submission=2)
    (clash,) = bench.env.overlaps(job_id())
    assert (clash.first.epoch, clash.second.epoch) == (1_000_000, 2_000_000)


def test_it_starts_no_thread_task_or_timer_and_the_clock_alone_drives_it(bench: Bench) -> None:
    before = threading.active_count()

    async def live() -> int:
        backend = bench.backend
        await backend.watch()
        ref = await backend.start(bench.order(), bench.meta())
        await backend.open(ref, bench.meta())
        bench.env.run(ref)
        bench.env.lose_node("n1")
        return len(asyncio.all_tasks())

    assert asyncio.run(live()) == 1
    assert threading.active_count() == before
    bench.pass_time(300)
    (truth,) = bench.env.truths()
    assert truth.observation is not None
    assert truth.observation.verdict.cause == "NodeLost"


def test_the_environment_moves_a_clock_to_the_next_thing_that_happens(bench: Bench) -> None:
    bench.running()
    bench.env.lose_node("n1")
    moments = [bench.env.advance_to_next_event() for _ in range(2)]
    assert moments[1] == ManualClock().now() + seconds(300)


def test_capacity_bounds_what_runs(bench: Bench) -> None:
    bench.env.set_capacity(1)
    first, second = bench.queued(1), bench.queued(2)
    assert bench.env.run_all() == (first,)
    bench.env.finish(first)
    assert bench.env.run_all() == (second,)


def test_a_hung_controller_serves_late_and_out_of_order(bench: Bench) -> None:
    ref = bench.start()
    bench.env.hang()
    for call in (bench.open, bench.stop):
        with pytest.raises(OutcomeUnknown):
            call(ref)
    bench.env.resume(reverse=True)
    truth = bench.env.truth(ref)
    assert truth.observation is None or truth.observation.state is State.CANCELLED


def test_its_settings_are_those_of_the_page_and_more(bench: Bench) -> None:
    document = {"shape": bench.backend.identity.version, "minJobAge": "5m", "watchBuffer": 64}
    assert open_memory(json.dumps(document)).identity.version == document["shape"]
    assert HOLD_BASE == 315_576_000
