"""The rules of Slurm, as experiments on real ones have shown them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from dispatch.adapters.memory.records import Record, Stage
from dispatch.adapters.memory.slurm_reading import (
    HOLDS,
    LAUNCH_EXIT,
    hold_instance,
    is_token,
    observation,
    raw_end,
)
from dispatch.model.epoch import Epoch
from dispatch.model.errors import Conflict, Finished, Invalid
from dispatch.model.status import By, Cause

if TYPE_CHECKING:
    from datetime import datetime

    from dispatch.adapters.memory.records import Execution, WorldObject
    from dispatch.adapters.memory.shape import Steps
    from dispatch.adapters.memory.world import World
    from dispatch.model.status import Observation
    from dispatch.spi.adapter import HoldMeta, StartOrder

REQUEUE_DELAY = 121
"""Seconds until a requeued job may start again."""
FENCED_EXIT = "119:0"
"""What the job script exits with when its ticket is taken."""


class SlurmShape:
    """Slurm 26.05 without a preset requeue bit, unless the settings revive."""

    def __init__(self, world: World) -> None:
        self.world = world

    # ------------------------------------------------------------- our writes

    def submit(self, order: StartOrder) -> Steps[str]:
        """``sbatch --hold --begin=<base>``, read back."""
        if order.base <= self._second():
            raise Invalid(
                f"The gate of {order.id} would open by itself: its begin time {order.base} is not in the future.",
                todo="Take a base of HoldBase seconds after now.",
            )
        record = Record(
            submitted=_whole(self.world.now),
            begin=order.base,
            flag=By.OWNER,
            requeue=self.world.settings.revival,
            reason="JobHeldUser",
        )
        ref = self.ref(self.world.create(order, record))
        yield
        return ref

    def open(self, item: WorldObject) -> Steps[None]:
        """``scontrol release``, then ``StartTime=now`` where the gate's begin time still stands (12, O5)."""
        self._refuse_ended(item, "opened")
        if item.record.flag is By.ADMINISTRATOR:
            raise Conflict(
                f"An administrator holds {self.ref(item)}.",
                todo="Ask for its release; it was not opened.",
            )
        if item.record.flag is By.OWNER and self._is_token(item):
            self.world.change(item, flag=None)
            yield
        if item.record.begin == item.order.base:
            self.world.change(item, begin=None)
        yield

    def stop(self, item: WorldObject) -> Steps[None]:
        """``Requeue=0`` and then ``scancel``; nothing where it has ended."""
        if item.record.stage is Stage.ENDED:
            return
        self.world.change(item, requeue=False)
        yield
        self.cancel(item, "owner")
        yield

    def hold(self, item: WorldObject, meta: HoldMeta) -> Steps[None]:
        """``StartTime=<base + instance>`` on a pending job."""
        if not 0 < meta.instance < HOLDS:
            raise Invalid(
                f"A hold has no instance {meta.instance}.", todo=f"Take one from 1 to {HOLDS - 1}."
            )
        self._refuse_ended(item, "held")
        if item.record.stage is not Stage.PENDING:
            raise Conflict(
                f"{self.ref(item)} is no longer pending.",
                todo="A hold takes effect before a start only.",
            )
        current = hold_instance(item)
        if current is not None and current >= meta.instance:
            raise Conflict(
                f"{self.ref(item)} has hold {current}, so hold {meta.instance} is stale.",
                todo="Read again.",
            )
        self.world.change(item, begin=item.order.base + meta.instance)
        yield

    def release(self, item: WorldObject, instance: int) -> Steps[None]:
        """Lift ``StartTime`` where it is that of the instance; what was never opened gets its gate back."""
        self._refuse_ended(item, "released")
        current = hold_instance(item)
        if current != instance:
            found = f"hold {current}" if current else "no hold of ours"
            raise Conflict(
                f"{self.ref(item)} has {found}, not hold {instance}.", todo="Read again."
            )
        self.world.change(item, begin=None if item.record.flag is None else item.order.base)
        yield

    def _refuse_ended(self, item: WorldObject, done: str) -> None:
        if item.record.stage is Stage.ENDED:
            raise Finished(f"{self.ref(item)} has ended, so it was not {done}.")

    def _is_token(self, item: WorldObject) -> bool:
        """Whether the begin time is the gate's or that of a hold of ours."""
        begin = item.record.begin
        return begin is not None and is_token(item.order.base, begin)

    # ---------------------------------------------------------------- reading

    def ref(self, item: WorldObject) -> str:
        """Id, job, submission, base and attempt: an id alone is used again once it is free."""
        order = item.order
        return f"{item.id}:{order.id}:{order.submission}:{order.base}:{order.attempt}"

    def instance(self, item: WorldObject) -> int | None:
        """Read it from the begin time."""
        return hold_instance(item)

    def observe(self, item: WorldObject) -> Observation:
        """Read it as an adapter for Slurm would."""
        return observation(self.world, item, self.ref(item))

    # --------------------------------------------------------------- starting

    def obstacle(self, item: WorldObject) -> str | None:
        """Say why the job cannot start now."""
        record = item.record
        if not item.queued or record.stage is not Stage.PENDING:
            return "it is not pending"
        if record.flag is not None:
            return f"it is held by {record.flag}"
        if record.begin is not None and record.begin > self._second():
            return "its begin time has not come"
        if record.cleaning:
            return "its last execution is being cleaned up"
        if self.world.is_full() or len(self.world.free_nodes(item)) < item.order.job.nodes:
            return "no resources are free"
        return None

    def launch(self, item: WorldObject, nodes: tuple[str, ...]) -> Execution | None:
        """Start the job script, which takes its ticket first (12, O4)."""
        world, record = self.world, item.record
        epoch = Epoch(item.order.submission, record.restarts)
        started = _whole(world.now)
        if world.settings.fence and world.machines.is_fenced(item.order.id, epoch):
            world.change(item, started=started, nodes=nodes, fenced=True)
            self._end(item, "FAILED", "NonZeroExitCode", FENCED_EXIT)
            return None
        execution = world.machines.launch(item, epoch, nodes, world.now)
        world.change(
            item,
            stage=Stage.RUNNING,
            state="RUNNING",
            reason="None",
            started=started,
            ended=None,
            nodes=nodes,
            failed_nodes=(),
            execution=execution.serial,
        )
        return execution

    def launch_failed(self, item: WorldObject, nodes: tuple[str, ...]) -> None:
        """``RaisedSignal:53``: slurmd could not start the job script, so there is no ticket either."""
        self.world.change(item, started=_whole(self.world.now), nodes=nodes)
        self._end(item, "FAILED", raw_end(LAUNCH_EXIT)[1], LAUNCH_EXIT)

    def relaunch_refused(self, item: WorldObject) -> None:
        """``Killing non-startable batch job: Job credential revoked``: the node ran nothing."""
        nodes = item.executions[-1].nodes
        self.world.change(item, started=_whole(self.world.now), nodes=nodes, refused=True)
        self._end(item, "FAILED", "NonZeroExitCode", "1:0")

    # ----------------------------------------------------------------- ending

    def program_ended(self, item: WorldObject, execution: Execution) -> None:
        """Write down the end that the batch node reports."""
        text = execution.end or "0:0"
        self._end(item, *raw_end(text), text)

    def timed_out(self, item: WorldObject) -> None:
        """``TIMEOUT``, with SIGTERM."""
        self._kill(item, Cause.TIMEOUT)
        self._end(item, "TIMEOUT", "TimeLimit", "0:15", killed=True)

    def preempted(self, item: WorldObject) -> None:
        """``PREEMPTED``, or pending again where the requeue bit is set."""
        self._kill(item, Cause.PREEMPTED)
        if item.record.requeue:
            self._requeue(item)
        else:
            self._end(item, "PREEMPTED", "None", "0:15", killed=True)

    def node_down(self, item: WorldObject, node: str) -> None:
        """``NODE_FAIL``, or pending again where the requeue bit is set; the processes know nothing of it."""
        self._kill(item, Cause.NODE_LOST)
        failed = (*item.record.failed_nodes, node)
        self.world.change(item, failed_nodes=failed)
        if item.record.requeue:
            self._requeue(item)
        else:
            self._end(item, "NODE_FAIL", "NodeDown", "1:0", killed=True)

    def missing(self, item: WorldObject) -> None:
        """``NODE_FAIL`` without a failed node: the batch job is missing from a node that answers."""
        if item.record.requeue:
            self._requeue(item)
        else:
            self._end(item, "NODE_FAIL", "None", "1:0")

    def cancel(self, item: WorldObject, who: str) -> None:
        """``scancel`` by the owner, an administrator (``root``) or another user with the right to."""
        if item.record.stage is Stage.ENDED:
            return
        running = item.record.stage is Stage.RUNNING
        self._kill(item, Cause.CANCELLED)
        self.world.change(item, cancelled_by=who)
        self._end(item, "CANCELLED", "None", "0:15" if running else "0:0", killed=running)

    def _kill(self, item: WorldObject, cause: Cause) -> None:
        """Write into the truth why the execution ends; its processes die with the cleaning."""
        if item.record.stage is Stage.RUNNING and item.record.execution is not None:
            execution = self.world.machines.executions[item.record.execution - 1]
            execution.cause = execution.cause or cause

    def _end(
        self, item: WorldObject, state: str, reason: str, exit_code: str, *, killed: bool = False
    ) -> None:
        world = self.world
        cleans = killed or (item.record.stage is Stage.RUNNING and world.settings.cleaning_time)
        world.change(
            item,
            stage=Stage.ENDED,
            state=state,
            reason=reason,
            exit_code=exit_code,
            ended=_whole(world.now),
            cleaning=self._to_clean(item) if cleans else item.record.cleaning,
        )
        self._plan_cleaning(item)
        world.plan_purge(item)

    def _requeue(self, item: WorldObject) -> None:
        """Pending again with its restart count raised, ungated; a later begin time and a hold flag stay."""
        record, now = item.record, self._second()
        later = record.begin is not None and record.begin > now + REQUEUE_DELAY
        self.world.change(
            item,
            stage=Stage.PENDING,
            state="PENDING",
            reason="BeginTime",
            exit_code="0:0",
            restarts=record.restarts + 1,
            submitted=_whole(self.world.now),
            begin=record.begin if later else now + REQUEUE_DELAY,
            cleaning=self._to_clean(item) if record.stage is Stage.RUNNING else record.cleaning,
            nodes=(),
            started=None,
            ended=None,
            cancelled_by=None,
            fenced=False,
            refused=False,
        )
        self._plan_cleaning(item)

    def _to_clean(self, item: WorldObject) -> tuple[str, ...]:
        return tuple(n for n in item.record.nodes if not self.world.machines.nodes[n].down)

    def _plan_cleaning(self, item: WorldObject) -> None:
        if not item.record.cleaning:
            return
        if self.world.settings.cleaning_time:
            self.world.after(self.world.settings.cleaning_time, lambda: self._clean(item))
        else:
            self._clean(item)

    def _clean(self, item: WorldObject) -> None:
        """Let the nodes that answer kill what they run of it, and say so; the others stay in ``cleaning``."""
        nodes = self.world.machines.nodes
        if not self.world.serving or not item.queued:
            return
        done = {
            n for n in item.record.cleaning if nodes[n].silent is None and not nodes[n].kill_fails
        }
        for execution in item.live:
            if not self.world.believed(execution):
                self.world.machines.kill(execution, done & execution.alive, None, self.world.now)
        self.world.change(item, cleaning=tuple(n for n in item.record.cleaning if n not in done))

    # ------------------------------------------------------------ other people

    def set_flag(self, item: WorldObject, by: By) -> None:
        """``scontrol hold``: allowed on a running job too, where it gates the next start."""
        self._refuse_ended(item, "held")
        if item.record.flag is not By.ADMINISTRATOR:
            self.world.change(item, flag=by)

    def clear_flag(self, item: WorldObject, by: By) -> None:
        """``scontrol release``: it clears the flag and keeps the begin time. A person cannot clear an administrator's."""
        self._refuse_ended(item, "released")
        if item.record.flag is By.ADMINISTRATOR and by is not By.ADMINISTRATOR:
            raise Conflict(f"An administrator holds {self.ref(item)}: access denied.")
        self.world.change(item, flag=None)

    def set_begin(self, item: WorldObject, begin: int | None) -> None:
        """``scontrol update StartTime=`` by hand."""
        self._refuse_ended(item, "changed")
        if item.record.stage is not Stage.PENDING:
            raise Conflict(f"{self.ref(item)} is no longer pending.")
        self.world.change(item, begin=begin)

    def requeue(self, item: WorldObject) -> bool:
        """``scontrol update Requeue=1`` and ``scontrol requeue``; the bit is left set."""
        record = item.record
        if record.stage is Stage.ENDED and not record.requeue:
            raise Finished(
                f"{self.ref(item)} ended with its requeue bit off: it can never run again."
            )
        if record.stage is Stage.PENDING:
            self.world.change(item, requeue=True)
            return False
        self._kill(item, Cause.REQUEUED)
        if record.stage is Stage.RUNNING:
            self.world.change(item, requeue=True)
        self._requeue(item)
        return True

    def _second(self) -> int:
        return int(self.world.now.timestamp())


def _whole(moment: datetime) -> datetime:
    return moment - timedelta(microseconds=moment.microsecond)
