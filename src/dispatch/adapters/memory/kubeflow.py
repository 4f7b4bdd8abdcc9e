"""The rules of Kubeflow Trainer and Kueue: a TrainJob, its Workload, and pods that outlive what the API says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dispatch.adapters.memory.cleaning import blame, plan_cleaning
from dispatch.adapters.memory.kubeflow_reading import exit_of, observation
from dispatch.adapters.memory.kubeflow_writing import KubeflowWrites
from dispatch.adapters.memory.records import Stage
from dispatch.model.answers import Capability
from dispatch.model.epoch import Epoch
from dispatch.model.errors import Conflict, Unsupported
from dispatch.model.status import By, Cause

if TYPE_CHECKING:
    from dispatch.adapters.memory.records import Execution, TrainJobRecord, WorldObject
    from dispatch.model.status import Observation


class KubeflowShape(KubeflowWrites):
    """Kubeflow Trainer 2.3 with Kueue, and an admission check that admits one execution at a time."""

    durable = True
    small_ids = False

    # ---------------------------------------------------------------- reading

    def name(self, item: WorldObject) -> str:
        """``dj-<ulid>-s<N>``, of which there is one at a time."""
        return f"dj-{item.order.id.lower()}-s{item.order.submission}"

    def ref(self, item: WorldObject) -> str:
        """Uid, job and name; a uid is never given twice."""
        if not item.ref:
            item.ref = f"uid-{item.serial}:{item.order.id}:{self.name(item)}"
        return item.ref

    def weakness(self, item: WorldObject) -> str | None:  # noqa: ARG002 - a uid singles out every object for ever
        """Nothing: a uid is never given twice."""
        return None

    def instance(self, item: WorldObject) -> int | None:
        """Read it from the annotations of the Workload."""
        hold = _mine(item).hold
        return hold.instance if hold else None

    def observe(self, item: WorldObject) -> Observation:
        """Read it as an adapter for Kubeflow would."""
        return observation(self.world, item, _mine(item), self.ref(item))

    # --------------------------------------------------------------- starting

    def obstacle(self, item: WorldObject) -> str | None:
        """Say why the Workload is not admitted now."""
        record, world = _mine(item), self.world
        if not item.queued or record.stage is not Stage.PENDING:
            return "it is not pending"
        if record.gated:
            return "its gate is closed"
        if record.flag is not None or record.hold is not None or record.stopping:
            return "its Workload is not active"
        if record.cleaning and world.answers.capability(Capability.READMISSION_GATE).yes:
            return "pods of its last execution are left"
        if world.is_full() or len(world.free_nodes(item)) < item.order.job.nodes:
            return "no quota is free"
        return None

    def launch(self, item: WorldObject, nodes: tuple[str, ...]) -> Execution:
        """Admit the Workload and run its pods. R counts executions: the restart counter does not count re-admissions."""
        world = self.world
        epoch = Epoch(item.order.submission, len(item.executions))
        execution = world.machines.launch(item, epoch, nodes, world.now)
        world.change(
            item,
            stage=Stage.RUNNING,
            state="Running",
            reason="Admitted",
            started=world.now,
            ended=None,
            nodes=nodes,
            failed_nodes=(),
            lost_at=None,
            execution=execution.serial,
        )
        return execution

    def launch_failed(self, item: WorldObject, nodes: tuple[str, ...]) -> None:
        """A pod that cannot start, as with an image that is not there."""
        self.world.change(item, started=self.world.now, nodes=nodes)
        self._end(item, "Failed", "LaunchFailed")

    def relaunch_refused(self, item: WorldObject) -> None:
        """Cannot be: nothing that was started is forgotten."""
        raise Unsupported(f"Kubeflow does not forget that it started {self.ref(item)}.")

    # ----------------------------------------------------------------- ending

    def program_ended(self, item: WorldObject, execution: Execution) -> None:
        """Write down the end that the pods tell; a JobSet that may restart does."""
        text, record = execution.end or "0:0", _mine(item)
        if exit_of(text) == 0:
            self._end(item, "Complete", "AllJobsCompleted", text)
        elif record.restarts < record.max_restarts:
            self.world.change(
                item,
                stage=Stage.PENDING,
                state="Pending",
                reason="RestartingJobSet",
                restarts=record.restarts + 1,
                nodes=(),
                failed_nodes=(),
                started=None,
            )
        else:
            self._end(item, "Failed", "FailedJobs", text)

    def timed_out(self, item: WorldObject) -> None:
        """``DeadlineExceeded``, which the TrainJob itself says, and no pod."""
        blame(self.world, item, Cause.TIMEOUT)
        self._end(item, "Failed", "DeadlineExceeded")

    def preempted(self, item: WorldObject) -> None:
        """Back to pending, its restart counter as it was."""
        self.evict(item, Cause.PREEMPTED, "Preempted")

    def node_down(self, item: WorldObject, node: str) -> None:
        """A pod on a silent node stays Terminating and wedges the object; one whose node has restarted has failed."""
        blame(self.world, item, Cause.NODE_LOST)
        if self.world.machines.nodes[node].silent is None:
            self._end(item, "Failed", "NodeLost")
        else:
            failed = (*_mine(item).failed_nodes, node)
            self.world.change(item, failed_nodes=failed, lost_at=self.world.now)
            self._tell_when_evidence_vanishes(item)

    def missing(self, item: WorldObject) -> None:
        """All pods have gone with their nodes, which answer again."""
        blame(self.world, item, Cause.NODE_LOST)
        self._end(item, "Failed", "NodeLost")

    def _end(self, item: WorldObject, state: str, reason: str, exit_code: str = "") -> None:
        # A program that ended by itself, with an exit code, has left no process in any pod.
        killed = item.record.stage is Stage.RUNNING and not exit_code
        self.world.change(
            item,
            stage=Stage.ENDED,
            state=state,
            reason=reason,
            exit_code=exit_code,
            ended=self.world.now,
            cleaning=self.with_pods(item) if killed else item.record.cleaning,
        )
        plan_cleaning(self.world, item)
        self._tell_when_evidence_vanishes(item)

    def _tell_when_evidence_vanishes(self, item: WorldObject) -> None:
        settings = self.world.settings
        window = settings.evidence_window or settings.min_job_age
        self.world.after(window, lambda: self.world.tell(item))

    # ------------------------------------------------------------------ nodes

    def registered(self, item: WorldObject, nodes: set[str]) -> None:
        """A node that answers tells of its pods again; what was deleted is gone once no pod is left."""
        record = _mine(item)
        if back := nodes.intersection(record.failed_nodes):
            left = tuple(n for n in record.failed_nodes if n not in back)
            if record.stage is Stage.RUNNING:
                self.world.change(item, failed_nodes=left, lost_at=record.lost_at if left else None)
        self.vanish(item)

    def silenced(self, item: WorldObject, node: str) -> None:
        """Its pods stay Terminating: nobody confirms that they are gone."""

    def fenced(self, item: WorldObject, node: str) -> None:
        """The node is removed, and its pods with it."""
        if node in item.record.cleaning:
            left = tuple(n for n in item.record.cleaning if n != node)
            self.world.change(item, cleaning=left)
            self.vanish(item)

    # ------------------------------------------------------------ other people

    def set_flag(self, item: WorldObject, by: By) -> None:
        """Deactivate the Workload by hand, which evicts what runs."""
        self.refuse_ended(item, "held")
        if item.record.flag is not By.ADMINISTRATOR:
            self.world.change(item, flag=by)
        if item.record.stage is Stage.RUNNING:
            self.evict(item, Cause.HELD, "Deactivated")

    def clear_flag(self, item: WorldObject, by: By) -> None:
        """Activate the Workload by hand; a hold of ours is asserted again at once, since its annotations stand."""
        self.refuse_ended(item, "released")
        if item.record.flag is By.ADMINISTRATOR and by is not By.ADMINISTRATOR:
            raise Conflict(f"An administrator holds {self.ref(item)}: access denied.")
        self.world.change(item, flag=None)

    def set_begin(self, item: WorldObject, begin: int | None) -> None:  # noqa: ARG002 - there is none to set
        """Cannot be: a TrainJob has no begin time."""
        raise Unsupported(f"{self.ref(item)} has no begin time: Kubeflow knows none.")

    def cancel(self, item: WorldObject, who: str) -> None:
        """Delete the TrainJob, as somebody other than us does."""
        if item.record.stage is not Stage.ENDED:
            self.delete(item, who)

    def requeue(self, item: WorldObject) -> bool:
        """Cannot be: Kubeflow runs nothing again on request."""
        raise Unsupported(f"{self.ref(item)} cannot be requeued: Kubeflow knows no requeue.")

    def rename(self, item: WorldObject, name: str) -> None:
        """Cannot be: a name is for ever."""
        raise Unsupported(f"{self.ref(item)} cannot be called {name}: no TrainJob can be renamed.")


def _mine(item: WorldObject) -> TrainJobRecord:
    return cast("TrainJobRecord", item.record)
