"""Broken adapters that read wrongly: refs, finds, causes, nodes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from msgspec.structs import replace

from conformance.breaking import Breakable, broken, verdict
from dispatch.adapters.memory.listing import living_in
from dispatch.adapters.memory.slurm_reading import hold_instance
from dispatch.model.errors import NotFound, Unavailable
from dispatch.model.status import (
    By,
    Cause,
    Gate,
    HoldSeen,
    ObjectKey,
    Observation,
    State,
    Verdict,
)
from dispatch.spi.adapter import Living, Reading


@broken
class CountsAStart(Breakable):
    """a new object that counts as restarted"""

    def show(self, seen: Observation) -> Observation:
        return replace(seen, restarts=1) if seen.cause is Cause.GATED else seen


@broken
class GateOfTheRunning(Breakable):
    """a running object that shows a closed gate"""

    def show(self, seen: Observation) -> Observation:
        return replace(seen, gate=Gate.CLOSED) if seen.state is State.RUNNING else seen


@broken
class LosesTheAttempt(Breakable):
    """an object that does not carry its attempt"""

    def show(self, seen: Observation) -> Observation:
        return replace(seen, key=replace(seen.key, attempt="attempt"))


@broken
class OneSubmission(Breakable):
    """objects that all say that they are the first"""

    def show(self, seen: Observation) -> Observation:
        return replace(seen, key=replace(seen.key, submission=1))


@broken
class RefOfTheEnded(Breakable):
    """a ref that changes when its object ends"""

    def show(self, seen: Observation) -> Observation:
        return replace(seen, ref=seen.ref + ":ended") if seen.state.ended else seen


@broken
class StartOfTheStopped(Breakable):
    """an object that never ran and shows a start time"""

    def show(self, seen: Observation) -> Observation:
        never_ran = seen.state is State.CANCELLED and seen.started is None
        return replace(seen, started=seen.ended) if never_ran else seen


@broken
class CauseOfTheStopped(Breakable):
    """a stopped object without a cause"""

    def show(self, seen: Observation) -> Observation:
        return verdict(seen, cause=None) if seen.state is State.CANCELLED else seen


@broken
class NeverFinal(Breakable):
    """an end that never is final"""

    def show(self, seen: Observation) -> Observation:
        return replace(seen, final=False)


# -------------------------------------------------------------------------- finding


@broken
class FindsTheNewest(Breakable):
    """a find that shows the newest object of a job alone"""

    async def find(self, job: str, known: Sequence[str] = ()) -> Reading:
        reading = await super().find(job, known)
        return replace(reading, observations=reading.observations[-1:])


@broken
class FindsByNameAlone(Breakable):
    """a find that passes over what somebody has renamed"""

    async def find(self, job: str, known: Sequence[str] = ()) -> Reading:  # noqa: ARG002 - that is the fault
        return await super().find(job)


@broken
class FindsNothingLoudly(Breakable):
    """a find that takes an empty answer for an error"""

    async def find(self, job: str, known: Sequence[str] = ()) -> Reading:
        reading = await super().find(job, known)
        if not reading.observations and not self.writes:
            raise NotFound(f"no job {job}")
        return reading


@broken
class HidesTheEnded(Breakable):
    """a find that hides what has ended"""

    async def find(self, job: str, known: Sequence[str] = ()) -> Reading:
        reading = await super().find(job, known)
        left = tuple(one for one in reading.observations if not one.state.ended)
        return replace(reading, observations=left)


@broken
class FindsOtherwise(Breakable):
    """a find that says of a running object another thing than its inspection"""

    async def find(self, job: str, known: Sequence[str] = ()) -> Reading:
        reading = await super().find(job, known)
        other = (
            replace(one, restarts=3) if one.state is State.RUNNING else one
            for one in reading.observations
        )
        return replace(reading, observations=tuple(other))


@broken
class InventsAnObject(Breakable):
    """an inspection that makes up an object that nobody knows"""

    async def inspect(self, ref: str) -> Observation:
        try:
            return await super().inspect(ref)
        except NotFound:
            _, job, submission, _, attempt = ref.split(":")
            key = ObjectKey(job=job, store="", submission=int(submission), attempt=attempt)
            gone = Verdict(state=State.UNKNOWN, cause=Cause.UNKNOWN, proven=False)
            return Observation(ref=ref, key=key, verdict=gone)


@broken
class ClientsClock(Breakable):
    """a reading that is stamped by a clock that is an hour off"""

    async def find(self, job: str, known: Sequence[str] = ()) -> Reading:
        reading = await super().find(job, known)
        return replace(reading, sent=reading.sent - timedelta(hours=1))


@broken
class BootOfTheView(Breakable):
    """a boot that is the process's own and not the controller's"""

    async def find(self, job: str, known: Sequence[str] = ()) -> Reading:
        reading = await super().find(job, known)
        return replace(reading, boot=f"{reading.boot} of {id(self)}")


@broken
class BootForEver(Breakable):
    """a boot that stays when the controller comes back"""

    async def find(self, job: str, known: Sequence[str] = ()) -> Reading:
        return replace(await super().find(job, known), boot="boot")


@broken
class ManyWithoutTheRunning(Breakable):
    """a find of many that leaves out what runs"""

    async def find_many(self, jobs: Sequence[str], known: Sequence[str] = ()) -> Reading:
        reading = await super().find_many(jobs, known)
        left = tuple(one for one in reading.observations if one.state is not State.RUNNING)
        return replace(reading, observations=left)


@broken
class ManyTwice(Breakable):
    """a find of many that shows an object as often as it is asked for"""

    async def find_many(self, jobs: Sequence[str], known: Sequence[str] = ()) -> Reading:
        readings = [await super(ManyTwice, self).find_many([job]) for job in jobs]
        found = tuple(one for reading in readings for one in reading.observations)
        return replace(await super().find_many(jobs, known), observations=found)


@broken
class NoneIsAll(Breakable):
    """a find of no jobs that shows everybody's"""

    async def find_many(self, jobs: Sequence[str], known: Sequence[str] = ()) -> Reading:
        return await super().find_many(list(jobs) or list(self._world.by_job), known)


@broken
class ListsTheEnded(Breakable):
    """a listing of the living that shows what has ended"""

    async def list_living(self) -> tuple[Living, ...]:
        ended = (
            Living(ref=self._world.shape.ref(item), job=item.order.id, store=item.order.store)
            for item in self._world.queue.values()
        )
        return (*living_in(self._world), *ended)


@broken
class AwayIsEmpty(Breakable):
    """a find that shows nothing when the cluster cannot be seen"""

    async def find(self, job: str, known: Sequence[str] = ()) -> Reading:
        try:
            return await super().find(job, known)
        except Unavailable:
            if self._closed:
                raise
            return Reading(sent=self._world.now, boot="boot-1")


# --------------------------------------------------------------------- holds that are shown


@broken
class CutsTheInstance(Breakable):
    """a hold that shows an instance of one digit too few"""

    def show(self, seen: Observation) -> Observation:
        hold = seen.hold
        if hold is not None and hold.instance == 7:
            return replace(seen, hold=HoldSeen(instance=6, by=hold.by))
        return seen


@broken
class OursIsAPersonsToo(Breakable):
    """our hold that is shown as a person's besides"""

    def show(self, seen: Observation) -> Observation:
        hold = seen.hold
        if hold is not None and hold.instance is not None and hold.by is None:
            return replace(seen, hold=HoldSeen(instance=hold.instance, by=By.OWNER))
        return seen


@broken
class TheirsHidesOurs(Breakable):
    """an administrator's hold that hides ours"""

    def show(self, seen: Observation) -> Observation:
        hold = seen.hold
        if hold is not None and hold.by is By.ADMINISTRATOR:
            return replace(seen, hold=HoldSeen(by=hold.by))
        return seen


@broken
class TheirsIsOurs(Breakable):
    """an administrator's hold that is shown as a person's"""

    def show(self, seen: Observation) -> Observation:
        if seen.cause is not Cause.ADMIN_HELD:
            return seen
        return replace(verdict(seen, cause=Cause.HELD), hold=HoldSeen(by=By.OWNER))


@broken
class ForgetsAHold(Breakable):
    """a held and opened object that shows no cause"""

    def show(self, seen: Observation) -> Observation:
        item = self.item(seen.ref)
        held = hold_instance(item) is not None and seen.cause is Cause.HELD
        return verdict(seen, cause=None) if held else seen
