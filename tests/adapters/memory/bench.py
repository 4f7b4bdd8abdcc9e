"""What every test of the memory adapter needs: a world under a clock that it moves, and jobs in it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast

from dispatch.adapters.memory import MemoryBackend, decode_settings
from dispatch.model.epoch import ulid
from dispatch.model.job import Job
from dispatch.spi.adapter import CallMeta, HoldMeta, StartOrder
from dispatch.testing.clock import ManualClock

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from dispatch.adapters.memory import Env
    from dispatch.model.status import Cause, Evidence, Observation, State

T = TypeVar("T")
HOLD_BASE = 315_576_000


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def job_id(number: int = 1) -> str:
    return ulid(1_767_225_600_000, number.to_bytes(10, "big"))


def do(call: Coroutine[Any, Any, T]) -> T:
    """Run a call to its end without a loop: the memory adapter waits for nothing, which this proves each time."""
    try:
        call.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    raise AssertionError("the memory adapter waited for something")


class Bench:
    """A world, one view of it, and short words for calls that begin in time."""

    def __init__(self, **settings: Any) -> None:
        self.clock = ManualClock()
        self.backend = MemoryBackend.create(decode_settings(settings), clock=self.clock)
        self.attempts = 0

    @property
    def env(self) -> Env:
        return self.backend.env

    def meta(self) -> CallMeta:
        return CallMeta(deadline=self.clock.now() + seconds(30))

    def order(
        self,
        number: int = 1,
        *,
        submission: int = 1,
        nodes: int = 1,
        exclude: tuple[str, ...] = (),
        store: str = "store",
    ) -> StartOrder:
        self.attempts += 1
        return StartOrder(
            id=job_id(number),
            job=Job(command=("train",), nodes=nodes),
            spec_hash="spec",
            store=store,
            submission=submission,
            attempt=f"a{self.attempts}",
            base=int(self.clock.now().timestamp()) + HOLD_BASE,
            exclude=exclude,
        )

    def start(self, number: int = 1, **order: Any) -> str:
        return do(self.backend.start(self.order(number, **order), self.meta()))

    def open(self, ref: str) -> None:
        do(self.backend.open(ref, self.meta()))

    def stop(self, ref: str) -> None:
        do(self.backend.stop(ref, self.meta()))

    def hold(self, ref: str, instance: int) -> None:
        meta = HoldMeta(
            deadline=self.meta().deadline, instance=instance, by="ada", why="maintenance"
        )
        do(self.backend.hold(ref, meta))

    def release(self, ref: str, instance: int) -> None:
        do(self.backend.release(ref, instance, self.meta()))

    def see(self, ref: str) -> Observation:
        return do(self.backend.inspect(ref))

    def cause(self, ref: str) -> Cause | None:
        return self.see(ref).cause

    def raw(self, ref: str) -> dict[str, str]:
        return {item.field: item.value for item in self.see(ref).verdict.evidence}

    def evidence(self, ref: str) -> tuple[Evidence, ...]:
        return self.see(ref).verdict.evidence

    def count(self, number: int = 1) -> int:
        return len(do(self.backend.find(job_id(number))).observations)

    def pass_time(self, duration: float) -> None:
        self.clock.advance(seconds(duration))

    # What most tests begin with.

    def queued(self, number: int = 1, **order: Any) -> str:
        ref = self.start(number, **order)
        self.open(ref)
        return ref

    def running(self, number: int = 1, **order: Any) -> str:
        ref = self.queued(number, **order)
        assert self.env.run(ref) is not None
        return ref

    def requeue(self, ref: str) -> None:
        do(self.backend.requeue(ref, self.meta()))

    def restore(self, ref: str) -> None:
        do(self.backend.restore_requeue_bit(ref, self.meta()))

    def waiting(self, ref: str) -> tuple[State, Cause | None, int]:
        """What most tests of what comes back look at."""
        seen = self.see(ref)
        return seen.state, seen.cause, seen.restarts


def kubeflow(**settings: Any) -> Bench:
    """A world of the Kubeflow shape."""
    return Bench(shape="kubeflow", **settings)
