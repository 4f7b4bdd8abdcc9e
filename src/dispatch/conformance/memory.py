"""The harness of the memory adapter: each check has a world of its own, under a clock that is moved by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any, TypeVar

from msgspec.structs import replace

from dispatch.adapters.memory import (
    Env,
    MemoryBackend,
    ShapeName,
    World,
    call_start,
    decode_settings,
)
from dispatch.conformance.harness import Harness
from dispatch.conformance.scheduler import Made, Scheduler
from dispatch.conformance.verdicts import CannotDo
from dispatch.model.answers import Capability, Tristate
from dispatch.model.errors import DispatchError, Rejected, Unsupported
from dispatch.model.job import Job
from dispatch.spi.adapter import CallMeta
from dispatch.testing.clock import ManualClock
from dispatch.testing.loop import SimulatedClock, SimulatedLoop, simulate

T = TypeVar("T")

MOST_IDS = 32
SETTINGS: dict[str, Any] = {
    "nodes": 8,
    "maxJobId": MOST_IDS,
    "slurmdTimeout": "40s",
    "watchBuffer": 16,
    "reviveEnded": False,
}


class MemoryScheduler(Scheduler):
    """The scheduler's side of a memory world."""

    def __init__(self, harness: MemoryHarness) -> None:
        self._harness = harness

    @property
    def env(self) -> Env:
        """The environment of the world of this check."""
        return self._harness.env

    async def finish(self, made: Made, code: int) -> None:
        """Let its program end."""
        self.env.finish(made.ref, code)

    async def signal(self, made: Made, name: str) -> None:
        """Let a signal kill its program."""
        self.env.finish(made.ref, signal=name)

    async def out_of_memory(self, made: Made) -> None:
        """Let the kernel kill it."""
        self.env.out_of_memory(made.ref)

    async def time_out(self, made: Made) -> None:
        """Let it reach its limit."""
        self.env.time_out(made.ref)

    async def preempt(self, made: Made) -> None:
        """Take its nodes."""
        self.env.preempt(made.ref)

    async def fail_launch(self, made: Made) -> None:
        """Let its start fail."""
        self.env.fail_launch(made.ref)

    async def spoil_launch(self, made: Made) -> None:
        """Let its start fail when its time has come."""
        self._harness.spoiled.add(made.ref)

    async def lose_node(self, made: Made) -> str:
        """Let its first node fall silent."""
        node = self.env.live(made.order.id)[0].nodes[0]
        self.env.lose_node(node)
        return node

    async def return_node(self, node: str) -> None:
        """Let it answer again."""
        self.env.return_node(node)

    async def fill(self) -> None:
        """Let nothing start."""
        self.env.set_capacity(0)

    async def make_room(self) -> None:
        """Let things start again."""
        self.env.set_capacity(None)

    async def cancel_as_administrator(self, made: Made) -> None:
        """Cancel it as root."""
        self.env.cancel(made.ref, who="root")

    async def hold_as_administrator(self, made: Made) -> None:
        """Hold it as root."""
        self.env.admin_hold(made.ref)

    async def hold_as_owner(self, made: Made) -> None:
        """Hold it by hand."""
        self.env.person_hold(made.ref)

    async def release_as_owner(self, made: Made) -> None:
        """Release everything of it by hand."""
        self.env.person_release(made.ref)

    async def mark_requeueable(self, made: Made) -> None:
        """Set its requeue bit while it is pending."""
        try:
            self.env.requeue_externally(made.ref)
        except Unsupported as error:
            raise CannotDo(str(error.what)) from error

    async def requeue_as_owner(self, made: Made) -> None:
        """Requeue it by hand; an object that is final refuses."""
        try:
            self.env.requeue_externally(made.ref)
        except DispatchError:
            return

    async def rename(self, made: Made) -> None:
        """Call it otherwise by hand."""
        try:
            self.env.rename(made.ref, "mine")
        except Unsupported as error:
            raise CannotDo(str(error.what)) from error

    async def purge(self, made: Made) -> None:
        """Let the queue forget it."""
        self.env.purge_now(made.ref)

    async def reuse_id(self, made: Made) -> None:
        """Purge it, and take every other id, so that the next object gets its id."""
        if self._harness.world.settings.shape is not ShapeName.SLURM:
            raise CannotDo("a uid is never given twice")
        self.env.purge_now(made.ref)
        backend = self._harness.view()
        deadline = self._harness.now() + timedelta(minutes=1)
        for number in range(2, MOST_IDS + 1):
            filler = replace(made.order, submission=number, attempt=f"filler-{number}")
            await backend.start(filler, CallMeta(deadline=deadline))

    async def restart_controller(self) -> None:
        """Start the controller again."""
        self.env.reboot()

    async def go_away(self) -> None:
        """Let nobody reach the world."""
        self.env.make_unavailable()

    async def come_back(self) -> None:
        """Let the world be reached again."""
        self.env.make_available()

    async def drop_next_reply(self) -> None:
        """Lose the next reply."""
        self.env.drop_next_reply()

    async def cut_next_call(self, steps: int) -> None:
        """Let the next caller die half-way."""
        self.env.cut_next_call(steps)

    async def refuse_next_for_now(self) -> None:
        """Refuse the next write as busy."""
        self.env.refuse_next()


class MemoryHarness(Harness):
    """The memory adapter, or a class of backend that is made of it, with these settings."""

    adapter = "memory"
    patience = 0.2
    flood = 20

    def __init__(self, kind: type[MemoryBackend] = MemoryBackend, **settings: Any) -> None:
        self.kind = kind
        self.scheduler = MemoryScheduler(self)
        self._settings = {**SETTINGS, **settings}
        self._make()

    def _make(self, clock: ManualClock | SimulatedClock | None = None) -> None:
        self.clock = clock or ManualClock()
        self.world = World(decode_settings(self._settings), self.clock)
        self.env = MemoryBackend(self.world).env
        self.spoiled = set[str]()
        """The refs of what fails to start when its time has come."""

    def view(self, *, read_only: bool = False) -> MemoryBackend:
        """One more view of the world of this check."""
        return self.kind(self.world, alias="conformance", read_only=read_only)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of its worlds."""
        return self._settings

    def run(self, suite: Coroutine[Any, Any, T]) -> T:
        """Run a suite in virtual time."""
        return simulate(suite)

    async def reset(self) -> None:
        """Make a new world, in the loop's own time where that is virtual."""
        loop = asyncio.get_running_loop()
        self._make(loop.clock if isinstance(loop, SimulatedLoop) else None)

    def overlaps(self, job: str) -> int:
        """Count the overlaps that the world has seen."""
        return len(self.env.overlaps(job))

    async def open(self, *, read_only: bool = False) -> MemoryBackend:
        """Open one more view of the world."""
        return self.view(read_only=read_only)

    async def open_without(self, capability: Capability, value: Tristate) -> MemoryBackend:
        """Open another world, whose settings answer so."""
        answer = {"value": value.value, "reason": "the check wants it so"}
        settings = {**self._settings, "capabilities": {capability.value: answer}}
        return self.kind(World(decode_settings(settings), self.clock), alias="conformance")

    def now(self) -> datetime:
        """The time of the clock."""
        return self.clock.now()

    async def pass_time(self, duration: timedelta) -> None:
        """Move the clock, or sleep where time is virtual, and start whatever may start."""
        self._start_all()
        if isinstance(self.clock, ManualClock):
            self.clock.advance(duration)
        else:
            await asyncio.sleep(duration.total_seconds())
        self._start_all()

    def _start_all(self) -> None:
        for ref in self.spoiled.intersection(self.env.runnable()):
            self.spoiled.discard(ref)
            self.env.fail_launch(ref)
        self.env.run_all()

    def late_call(self, moment: datetime) -> AbstractContextManager[None]:
        """Let calls begin at that moment."""
        return call_start(moment)

    def impossible_job(self) -> Job:
        """Refuse the next start for good."""
        self.env.refuse_next(Rejected("The scheduler never takes such a job."))
        return self.job()

    def unknown_ref(self, made: Made) -> str:
        """The ref of an object whose id was never given."""
        return f"9{made.ref}"
