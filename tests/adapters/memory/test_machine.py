"""A random life of one job in a random world: what must hold after every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from adapters.memory.bench import Bench, do, job_id, seconds
from dispatch.adapters.memory import Relaunch
from dispatch.model.errors import Busy, DispatchError
from dispatch.model.status import By, Cause, Gate, State
from dispatch.spi.adapter import HoldMeta

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch.adapters.memory import ObjectTruth

INSTANCES = st.integers(1, 3)
DELAYS = st.sampled_from([0, 1, 4, 30, 121, 400])
NODES = st.sampled_from(["n1", "n2", "n3"])


class World(RuleBasedStateMachine):
    """Drives both sides at random; every refusal is allowed, as long as the truth stays right.

    The requeue bit stays off unless somebody sets it from outside, and the start ticket is on: under these nothing may
    ever overlap within an object.
    """

    @initialize(accounting=st.booleans(), cleaning=st.sampled_from(["0s", "10s"]))
    def open_world(self, *, accounting: bool, cleaning: str) -> None:
        self.bench = Bench(
            nodes=3,
            saveWindow="5s",
            slurmdTimeout="40s",
            minJobAge="2m",
            cleaningTime=cleaning,
            capabilities={"AccountingHistory": {"value": "yes" if accounting else "no"}},
        )
        self.opened: set[str] = set()
        """Refs whose Open may have been sent."""
        self.released_by_hand: set[str] = set()
        """Refs whose hold flag somebody else has lifted: a hold and a release of ours then lift the rest (see below)."""
        self.requeued: set[str] = set()
        self.finals: dict[str, tuple[State, Cause | None]] = {}
        self.boot = ""

    # ------------------------------------------------------------------ helpers

    def attempt(self, action: Callable[[], object]) -> bool:
        """Make a call that may be refused; whether it was not."""
        try:
            action()
        except DispatchError:
            return False
        return True

    def is_pending(self, truth: ObjectTruth) -> bool:
        return truth.observation is not None and truth.observation.state is State.PENDING

    def let_nodes_register(self) -> None:
        """Once the nodes that answer have registered, nothing lives on them that the controller does not know."""
        self.bench.pass_time(4)
        world = self.bench.env._world
        world.settle()
        for execution in world.machines.live.values():
            known = world.believed(execution) or world.objects[execution.object - 1].record.cleaning
            assert known or all(world.machines.nodes[name].silent for name in execution.alive)

    def a_ref(self, data: st.DataObject) -> str | None:
        refs = [truth.ref for truth in self.bench.env.truths()]
        return data.draw(st.sampled_from(refs)) if refs else None

    # -------------------------------------------------------------------- rules

    @rule(submission=st.integers(1, 2))
    def start(self, submission: int) -> None:
        if len(self.bench.env.truths()) < 3:
            self.attempt(lambda: self.bench.start(submission=submission))

    @rule(data=st.data())
    def open(self, data: st.DataObject) -> None:
        if ref := self.a_ref(data):
            before = self.bench.env.truth(ref)
            self.opened.add(ref)
            opened = self.attempt(lambda: self.bench.open(ref))
            after = self.bench.env.truth(ref)
            assert after.hold_instance == before.hold_instance
            if before.held_by is By.ADMINISTRATOR and self.is_pending(before):
                assert not opened
                assert after == before
            elif opened and self.is_pending(before):
                assert after.observation is not None
                assert after.observation.gate is Gate.OPEN

    @rule(submission=st.integers(1, 2))
    def start_open_and_run(self, submission: int) -> None:
        if len(self.bench.env.truths()) < 3:
            known = {truth.ref for truth in self.bench.env.truths()}
            self.attempt(lambda: self.bench.start(submission=submission))
            for ref in {truth.ref for truth in self.bench.env.truths()} - known:
                self.opened.add(ref)
                self.attempt(lambda ref=ref: self.bench.open(ref))  # type: ignore[misc]
                self.attempt(lambda ref=ref: self.bench.env.run(ref))  # type: ignore[misc]

    @rule(data=st.data(), instance=INSTANCES)
    def hold(self, data: st.DataObject, instance: int) -> None:
        if ref := self.a_ref(data):
            before = self.bench.env.truth(ref)
            meta = HoldMeta(deadline=self.bench.meta().deadline, instance=instance)
            held = self.attempt(lambda: do(self.bench.backend.hold(ref, meta)))
            after = self.bench.env.truth(ref)
            assert after.held_by is before.held_by
            if held:
                assert (before.hold_instance or 0) < instance == after.hold_instance
                assert self.is_pending(before)

    @rule(data=st.data(), instance=INSTANCES)
    def release(self, data: st.DataObject, instance: int) -> None:
        if ref := self.a_ref(data):
            before = self.bench.env.truth(ref)
            released = self.attempt(lambda: self.bench.release(ref, instance))
            after = self.bench.env.truth(ref)
            if released:
                assert before.hold_instance == instance
                assert after.hold_instance is None
            assert after.held_by is before.held_by  # S3: nobody else's hold is lifted
            if before.observation and before.observation.gate is Gate.CLOSED and after.observation:
                assert after.observation.gate is Gate.CLOSED

    @rule(data=st.data())
    def stop(self, data: st.DataObject) -> None:
        if ref := self.a_ref(data):
            stopped = self.attempt(lambda: self.bench.stop(ref))
            truth = self.bench.env.truth(ref)
            if stopped and truth.observation and not truth.observation.requeue:
                assert truth.observation.final

    @rule(fault=st.sampled_from(["drop", "delay", "duplicate", "cut", "refuse"]), by=DELAYS)
    def disturb_the_next_call(self, fault: str, by: int) -> None:
        env = self.bench.env
        match fault:
            case "drop":
                env.drop_next_reply()
            case "delay":
                env.delay_next_call(seconds(by))
            case "duplicate":
                env.duplicate_next_call(seconds(by))
            case "cut":
                env.cut_next_call(by % 3)
            case _:
                env.refuse_next(Busy("Not now."))

    @rule(data=st.data())
    def run(self, data: st.DataObject) -> None:
        if ref := self.a_ref(data):
            self.attempt(lambda: self.bench.env.run(ref))

    @rule()
    def run_all(self) -> None:
        self.bench.env.run_all()

    @rule(
        data=st.data(),
        what=st.sampled_from([
            "finish", "out_of_memory", "time_out", "preempt", "cancel", "admin_hold", "admin_release", "person_hold",
            "person_release", "purge_now", "fail_launch",
        ]),
    )  # fmt: skip
    def happen(self, data: st.DataObject, what: str) -> None:
        if ref := self.a_ref(data):
            if what in {"admin_release", "person_release"}:
                self.released_by_hand.add(ref)
            self.attempt(lambda: getattr(self.bench.env, what)(ref))

    @rule(data=st.data())
    def requeue(self, data: st.DataObject) -> None:
        if ref := self.a_ref(data):
            before = self.bench.env.truth(ref)
            self.requeued.add(ref)
            revived = self.attempt(lambda: self.bench.env.requeue_externally(ref))
            after = self.bench.env.truth(ref)
            assert after.held_by is before.held_by
            if before.begin is not None and before.hold_instance is not None:
                assert after.hold_instance == before.hold_instance
            if before.observation and before.observation.final:
                assert not revived
                assert after == before

    @rule(name=NODES, what=st.sampled_from(["lose_node", "return_node", "fence_node"]))
    def change_a_node(self, name: str, what: str) -> None:
        getattr(self.bench.env, what)(name)

    @rule(
        partly=st.booleans(),
        away=DELAYS,
        relaunch=st.sampled_from(Relaunch),
        lost=st.integers(0, 5),
        data=st.data(),
    )
    def crash(
        self, *, partly: bool, away: int, relaunch: Relaunch, lost: int, data: st.DataObject
    ) -> None:
        self.bench.env.crash(seconds(lost), partly=partly)
        self.bench.pass_time(away)
        boot = self.bench.env.reboot(relaunch=relaunch)
        assert boot != self.boot
        self.boot = boot
        if data.draw(st.booleans()):
            self.let_nodes_register()
        self.finals.clear()  # an end can be forgotten

    @rule(away=DELAYS, reverse=st.booleans(), data=st.data())
    def hang(self, *, away: int, reverse: bool, data: st.DataObject) -> None:
        self.bench.env.hang()
        if ref := self.a_ref(data):
            self.attempt(lambda: self.bench.stop(ref))
        self.bench.pass_time(away)
        self.bench.env.resume(reverse=reverse)

    @rule(duration=DELAYS)
    def pass_time(self, duration: int) -> None:
        self.bench.pass_time(duration)

    @rule()
    def go_to_the_next_event(self) -> None:
        self.bench.env.advance_to_next_event()

    # --------------------------------------------------------------- invariants

    def truths(self) -> tuple[ObjectTruth, ...]:
        return self.bench.env.truths() if hasattr(self, "bench") else ()

    @invariant()
    def nothing_runs_whose_open_was_not_sent(self) -> None:
        for truth in self.truths():
            if truth.executions:
                # Beneath a hold the gate is the hold flag alone, and a release of everything by hand lifts that.
                assert truth.ref in self.opened | self.released_by_hand, truth

    @invariant()
    def no_epoch_runs_twice(self) -> None:
        for truth in self.truths():
            epochs = [execution.epoch for execution in truth.executions]
            assert epochs == sorted(set(epochs))

    @invariant()
    def only_slurms_own_restart_overlaps(self) -> None:
        if hasattr(self, "bench"):
            for clash in self.bench.env.overlaps():
                # Two submissions at once are the caller's doing; the fence lets them start in their order only.
                assert clash.first.epoch < clash.second.epoch
                if clash.first.ref == clash.second.ref:
                    assert clash.first.ref in self.requeued
        for truth in self.truths():
            if truth.live > 1:
                assert truth.ref in self.requeued

    @invariant()
    def a_closed_gate_does_not_run(self) -> None:
        runnable = self.bench.env.runnable() if hasattr(self, "bench") else ()
        for truth in self.truths():
            seen = truth.observation
            if seen is not None and (seen.gate is Gate.CLOSED or seen.hold is not None):
                assert seen.state is not State.PENDING or truth.ref not in runnable
            if truth.ref in runnable:
                assert truth.ref in self.opened | self.released_by_hand

    @invariant()
    def what_is_final_stays_as_it_is(self) -> None:
        for truth in self.truths():
            seen = truth.observation
            if seen is None or not seen.final:
                assert truth.ref not in self.finals or seen is None
                continue
            assert seen.state.ended
            told = (seen.state, seen.cause)
            before = self.finals.get(truth.ref, told)
            # A first launch that lives on may still write its end after a second one was refused.
            assert before == told or before[1] in {Cause.FENCED, Cause.FORGOTTEN}
            self.finals[truth.ref] = told

    @invariant()
    def a_proven_cause_is_the_true_one(self) -> None:
        """S8, for the causes that an execution itself has."""
        of_its_own = {
            Cause.NON_ZERO_EXIT,
            Cause.SIGNALLED,
            Cause.OUT_OF_MEMORY,
            Cause.PREEMPTED,
            Cause.TIMEOUT,
        }
        for truth in self.truths():
            seen = truth.observation
            if seen is None or not seen.state.ended or seen.cause not in of_its_own:
                continue
            if self.boot and seen.cause in {Cause.PREEMPTED, Cause.TIMEOUT}:
                continue  # a controller that forgot a stop preempts, or times out, what has gone already
            assert seen.cause in {execution.cause for execution in truth.executions}, truth

    @invariant()
    def holds_are_told_with_their_owner(self) -> None:
        for truth in self.truths():
            seen = truth.observation
            if seen is None or seen.state.ended:
                continue
            if truth.held_by is By.ADMINISTRATOR:
                assert seen.hold is not None
                assert seen.hold.by is By.ADMINISTRATOR
            if truth.hold_instance is not None:
                assert seen.hold is not None
                assert seen.hold.instance == truth.hold_instance

    @invariant()
    def the_count_of_nodes_in_use_is_right(self) -> None:
        if hasattr(self, "bench"):
            world = self.bench.env._world
            counted = +world._in_use, world._running
            world.restore()
            assert (+world._in_use, world._running) == counted

    @invariant()
    def find_shows_what_the_truth_says(self) -> None:
        if hasattr(self, "bench"):
            found = do(self.bench.backend.find(job_id())).observations
            assert found == tuple(t.observation for t in self.truths() if t.observation is not None)


World.TestCase.settings = settings(
    max_examples=150,
    stateful_step_count=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestWorld = World.TestCase
