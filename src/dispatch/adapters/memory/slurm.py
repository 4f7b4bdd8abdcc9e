"""The rules of Slurm, as experiments on real ones have shown them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from dispatch.adapters.memory.cleaning import blame, plan_cleaning
from dispatch.adapters.memory.records import Stage
from dispatch.adapters.memory.slurm_reading import LAUNCH_EXIT, hold_instance, observation, raw_end
from dispatch.adapters.memory.slurm_writing import SlurmWrites, whole
from dispatch.model.epoch import Epoch, object_name
from dispatch.model.errors import Conflict, Finished
from dispatch.model.status import By, Cause

if TYPE_CHECKING:
    from dispatch.adapters.memory.records import Execution, WorldObject
    from dispatch.model.status import Observation

FENCED_EXIT = "119:0"
"""What the job script exits with when its ticket is taken."""


class SlurmShape(SlurmWrites):
    """Slurm 26.05 without a preset requeue bit, unless the settings revive."""

    durable = False
    small_ids = True

    # ---------------------------------------------------------------- reading

    def name(self, item: WorldObject) -> str:
        """The constant name of every object of the job."""
        return object_name(item.order.id)

    def weakness(self, item: WorldObject) -> str | None:
        """Ids wrap, and submit times are cut to the second; neither alone singles out a job for good."""
        for other in self.world.objects:
            if other is not item and other.id == item.id:
                same = other.record.submitted == item.record.submitted
                seconds = ", submitted within the same second" if same else ""
                return f"Slurm gave its id {item.id} to {self.ref(other)} too{seconds}."
        return None

    def ref(self, item: WorldObject) -> str:
        """Id, job, submission, base and attempt: an id alone is used again once it is free."""
        if not item.ref:
            order = item.order
            item.ref = f"{item.id}:{order.id}:{order.submission}:{order.base}:{order.attempt}"
        return item.ref

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
        started = whole(world.now)
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
        self.world.change(item, started=whole(self.world.now), nodes=nodes)
        self._end(item, "FAILED", raw_end(LAUNCH_EXIT)[1], LAUNCH_EXIT)

    def relaunch_refused(self, item: WorldObject) -> None:
        """``Killing non-startable batch job: Job credential revoked``: the node ran nothing."""
        nodes = item.executions[-1].nodes
        self.world.change(item, started=whole(self.world.now), nodes=nodes, refused=True)
        self._end(item, "FAILED", "NonZeroExitCode", "1:0")

    # ----------------------------------------------------------------- ending

    def program_ended(self, item: WorldObject, execution: Execution) -> None:
        """Write down the end that the batch node reports."""
        text = execution.end or "0:0"
        self._end(item, *raw_end(text), text)

    def timed_out(self, item: WorldObject) -> None:
        """``TIMEOUT``, with SIGTERM."""
        blame(self.world, item, Cause.TIMEOUT)
        self._end(item, "TIMEOUT", "TimeLimit", "0:15", killed=True)

    def preempted(self, item: WorldObject) -> None:
        """``PREEMPTED``, or pending again where the requeue bit is set."""
        blame(self.world, item, Cause.PREEMPTED)
        if item.record.requeue:
            self._requeue(item)
        else:
            self._end(item, "PREEMPTED", "None", "0:15", killed=True)

    def node_down(self, item: WorldObject, node: str) -> None:
        """``NODE_FAIL``, or pending again where the requeue bit is set; the processes know nothing of it."""
        blame(self.world, item, Cause.NODE_LOST)
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
        blame(self.world, item, Cause.CANCELLED)
        self.world.change(item, cancelled_by=who)
        self._end(item, "CANCELLED", "None", "0:15" if running else "0:0", killed=running)

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
            ended=whole(world.now),
            cleaning=self._to_clean(item) if cleans else item.record.cleaning,
        )
        plan_cleaning(self.world, item)
        world.plan_purge(item)

    def _requeue(self, item: WorldObject) -> None:
        """Pending again with its restart count raised; a later begin time (a gate, a hold) and a hold flag stay."""
        settings, record = self.world.settings, item.record
        start = self._second() + settings.requeue_delay // timedelta(seconds=1)
        later = record.begin is not None and record.begin > start
        self.world.change(
            item,
            stage=Stage.PENDING,
            state="PENDING",
            reason="BeginTime",
            exit_code="0:0",
            restarts=record.restarts + 1,
            submitted=whole(self.world.now) if settings.submit_time_moves else record.submitted,
            begin=record.begin if later else start,
            cleaning=self._to_clean(item) if record.stage is Stage.RUNNING else record.cleaning,
            nodes=(),
            started=None,
            ended=None,
            cancelled_by=None,
            fenced=False,
            refused=False,
        )
        plan_cleaning(self.world, item)

    def _to_clean(self, item: WorldObject) -> tuple[str, ...]:
        return tuple(n for n in item.record.nodes if not self.world.machines.nodes[n].down)

    def registered(self, item: WorldObject, nodes: set[str]) -> None:
        """Nothing more follows than what the nodes themselves do."""

    def silenced(self, item: WorldObject, node: str) -> None:
        """Slurm does not wait for a node that is down."""
        self.world.change(item, cleaning=tuple(n for n in item.record.cleaning if n != node))

    def fenced(self, item: WorldObject, node: str) -> None:
        """The controller learns of it by the silence."""

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
        blame(self.world, item, Cause.REQUEUED)
        if record.stage is Stage.RUNNING:
            self.world.change(item, requeue=True)
        self._requeue(item)
        return True

    def rename(self, item: WorldObject, name: str) -> None:
        """``scontrol update JobName=`` by hand: a listing by our name shows the job no more."""
        self._refuse_ended(item, "renamed")
        self.world.change(item, name=name)
