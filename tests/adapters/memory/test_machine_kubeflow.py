"""A random life of one job under Kubeflow: what must hold after every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from adapters.memory.bench import Bench, do, job_id, kubeflow
from dispatch.adapters.memory import Crashed, crash_between_steps
from dispatch.model.errors import DispatchError
from dispatch.model.status import By, Cause, Observation

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.adapters.memory import ObjectTruth

NODES = st.sampled_from(["n1", "n2", "n3"])
HAPPENINGS = st.sampled_from([
    "finish", "out_of_memory", "time_out", "preempt", "admin_hold", "admin_release", "person_hold",
    "person_release", "fail_launch", "cancel",
])  # fmt: skip
BEFALLS = {
    "out_of_memory": Cause.OUT_OF_MEMORY,
    "time_out": Cause.TIMEOUT,
    "preempt": Cause.PREEMPTED,
}


class KubeflowWorld(RuleBasedStateMachine):
    """Drives both sides at random; every refusal is allowed, as long as the truth stays right."""

    @initialize(cleaning=st.sampled_from(["0s", "10s"]))
    def open_world(self, cleaning: str) -> None:
        self.bench: Bench = kubeflow(nodes=3, slurmdTimeout="40s", cleaningTime=cleaning)
        self.opened: set[str] = set()
        self.befell: dict[str, set[Cause | None]] = {}
        self.stopped: dict[str, int] = {}
        self.stream = do(self.bench.backend.watch())
        self.told: dict[str, Observation] = {}

    def attempt(self, action: Callable[[], object]) -> bool:
        try:
            action()
        except (DispatchError, Crashed):
            return False
        return True

    def a_ref(self, data: st.DataObject) -> str | None:
        refs = [truth.ref for truth in self.bench.env.truths()]
        return data.draw(st.sampled_from(refs)) if refs else None

    @rule(submission=st.integers(1, 2), run=st.booleans())
    def start(self, submission: int, *, run: bool) -> None:
        known = {truth.ref for truth in self.bench.env.truths()}
        if len(known) < 4 and self.attempt(lambda: self.bench.start(submission=submission)) and run:
            for ref in {truth.ref for truth in self.bench.env.truths()} - known:
                self.opened.add(ref)
                self.bench.open(ref)
                self.attempt(lambda ref=ref: self.bench.env.run(ref))  # type: ignore[misc]

    @rule(data=st.data(), crash=st.booleans())
    def open(self, data: st.DataObject, *, crash: bool) -> None:
        if ref := self.a_ref(data):
            self.opened.add(ref)
            if crash:
                with crash_between_steps():
                    self.attempt(lambda: self.bench.open(ref))
            else:
                self.attempt(lambda: self.bench.open(ref))

    @rule(data=st.data(), instance=st.integers(1, 3))
    def hold(self, data: st.DataObject, instance: int) -> None:
        if ref := self.a_ref(data):
            held = self.attempt(lambda: self.bench.hold(ref, instance))
            if held:
                truth = self.bench.env.truth(ref)
                assert (truth.hold_instance, truth.held_for) == (instance, "ada")
                assert ref not in self.bench.env.runnable()

    @rule(data=st.data(), instance=st.integers(1, 3))
    def release(self, data: st.DataObject, instance: int) -> None:
        if ref := self.a_ref(data):
            before = self.bench.env.truth(ref)
            released = self.attempt(lambda: self.bench.release(ref, instance))
            after = self.bench.env.truth(ref)
            assert after.held_by is before.held_by  # S3
            if released:
                assert before.hold_instance == instance
            else:
                assert after.hold_instance == before.hold_instance

    @rule(data=st.data(), crash=st.booleans())
    def stop(self, data: st.DataObject, *, crash: bool) -> None:
        if ref := self.a_ref(data):
            if crash:
                with crash_between_steps():
                    self.attempt(lambda: self.bench.stop(ref))
            elif self.attempt(lambda: self.bench.stop(ref)):
                self.stopped.setdefault(ref, len(self.bench.env.truth(ref).executions))

    @rule(data=st.data())
    def run(self, data: st.DataObject) -> None:
        if ref := self.a_ref(data):
            self.attempt(lambda: self.bench.env.run(ref))

    @rule(data=st.data(), what=HAPPENINGS)
    def happen(self, data: st.DataObject, what: str) -> None:
        if (ref := self.a_ref(data)) and self.attempt(lambda: getattr(self.bench.env, what)(ref)):
            self.befell.setdefault(ref, set()).add(BEFALLS.get(what))

    @rule(name=NODES, what=st.sampled_from(["lose_node", "return_node", "fence_node"]))
    def change_a_node(self, name: str, what: str) -> None:
        getattr(self.bench.env, what)(name)

    @rule(name=NODES)
    def reboot_a_node(self, name: str) -> None:
        self.bench.env.return_node(name, rebooted=True)

    @rule(duration=st.sampled_from([0, 1, 4, 30, 121, 400]))
    def pass_time(self, duration: int) -> None:
        self.bench.pass_time(duration)

    @rule()
    def crash_the_controller(self) -> None:
        self.bench.env.crash()
        self.bench.env.reboot()
        assert self.stream.closed
        self.stream = do(self.bench.backend.watch())

    def truths(self) -> tuple[ObjectTruth, ...]:
        return self.bench.env.truths() if hasattr(self, "bench") else ()

    @invariant()
    def nothing_runs_whose_open_was_not_sent(self) -> None:
        assert all(truth.ref in self.opened for truth in self.truths() if truth.executions)

    @invariant()
    def epochs_rise_and_no_two_executions_of_an_object_overlap(self) -> None:
        for truth in self.truths():
            epochs = [execution.epoch for execution in truth.executions]
            assert epochs == sorted(set(epochs))
            assert truth.live <= 1

    @invariant()
    def nothing_starts_after_a_stop(self) -> None:
        for truth in self.truths():
            if truth.ref in self.stopped:
                assert len(truth.executions) == self.stopped[truth.ref]

    @invariant()
    def a_cause_is_the_true_one_or_unknown(self) -> None:
        for truth in self.truths():
            seen = truth.observation
            if seen is not None and seen.state.ended and truth.executions and seen.cause:
                # What has lost a node may be ended for another reason before that is its end: both are true of it.
                told = {
                    *self.befell.get(truth.ref, ()),
                    truth.executions[-1].cause,
                    Cause.UNKNOWN,
                    Cause.LAUNCH_FAILED,
                    Cause.CANCELLED,
                }
                hinted = seen.cause is Cause.NON_ZERO_EXIT
                assert hinted or seen.cause in told, truth

    @invariant()
    def whoever_watches_knows_what_a_read_says(self) -> None:
        if not hasattr(self, "stream"):
            return
        while self.stream._snapshot or self.stream._changes:
            seen = do(anext(self.stream))
            self.told[seen.ref] = seen
        for seen in do(self.bench.backend.find(job_id())).observations:
            assert self.told[seen.ref].state is seen.state
            assert self.told[seen.ref].gate is seen.gate
            assert self.told[seen.ref].hold == seen.hold

    @invariant()
    def an_administrators_hold_lets_nothing_run(self) -> None:
        for truth in self.truths():
            if truth.held_by is By.ADMINISTRATOR:
                assert truth.ref not in self.bench.env.runnable()


KubeflowWorld.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, suppress_health_check=[HealthCheck.too_slow]
)
TestKubeflowWorld = KubeflowWorld.TestCase
