"""Rules that the scheduler carries out itself."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from adapters.memory.bench import Bench, do, kubeflow
from dispatch.model.answers import Action
from dispatch.model.errors import Invalid, Unsupported
from dispatch.model.plan import Executor, Plan, PlannedRule
from dispatch.model.policy import Backoff, Policy, Rule
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause, State
from dispatch.spi.adapter import NativePolicyCompiler


def left(action: Action = Action.RESTART, executor: Executor = Executor.SCHEDULER) -> Plan:
    return Plan(rules=(PlannedRule(rule=0, action=action, executor=executor),))


def policy(**rule: Any) -> Policy:
    return Policy(rules=(Rule(when=(Cause.NON_ZERO_EXIT,), do=Action.RESTART, **rule),))


def start(bench: Bench, native: dict[str, str]) -> str:
    return do(bench.backend.start(replace(bench.order(), native=native), bench.meta()))


def test_slurm_is_told_to_requeue_and_does() -> None:
    bench = Bench()
    assert isinstance(bench.backend, NativePolicyCompiler)
    native = bench.backend.compile_native(policy(), left())
    assert native == {"requeue": "1"}
    ref = start(bench, native)
    bench.open(ref)
    bench.env.run(ref)
    bench.env.preempt(ref)
    assert bench.waiting(ref) == (State.PENDING, Cause.REQUEUED, 1)


def test_a_job_set_is_told_how_often_to_restart_and_counts_it() -> None:
    bench = kubeflow()
    native = bench.backend.compile_native(policy(limit=1), left())
    assert native == {"maxRestarts": "1"}
    ref = start(bench, native)
    bench.open(ref)
    bench.env.run(ref)
    bench.env.finish(ref, 1)
    assert bench.waiting(ref) == (State.PENDING, Cause.REQUEUED, 1)
    bench.env.run(ref)
    bench.env.finish(ref, 1)
    assert bench.waiting(ref) == (State.FAILED, Cause.NON_ZERO_EXIT, 1)
    assert [one.epoch for one in bench.env.truth(ref).executions] == [1_000_000, 1_000_001]


@pytest.mark.parametrize("shape", ["slurm", "kubeflow"])
def test_a_plan_that_leaves_it_nothing_says_nothing(shape: str) -> None:
    backend = Bench(shape=shape).backend
    assert backend.compile_native(policy(limit=1), left(executor=Executor.SUPERVISOR)) == {}
    assert backend.compile_native(Policy(), Plan()) == {}


@pytest.mark.parametrize("shape", ["slurm", "kubeflow"])
@pytest.mark.parametrize(
    "rule",
    [{"limit": 1, "within": Duration(hours=1)}, {"limit": 1, "backoff": Backoff()}],
    ids=["window", "backoff"],
)
def test_what_a_scheduler_cannot_keep_is_not_left_to_it(shape: str, rule: dict[str, Any]) -> None:
    with pytest.raises(Unsupported):
        Bench(shape=shape).backend.compile_native(policy(**rule), left())


def test_slurm_keeps_no_limit_and_a_job_set_needs_one() -> None:
    with pytest.raises(Unsupported):
        Bench().backend.compile_native(policy(limit=1), left())
    with pytest.raises(Unsupported):
        kubeflow().backend.compile_native(policy(), left())


@pytest.mark.parametrize("shape", ["slurm", "kubeflow"])
def test_a_scheduler_restarts_and_does_nothing_else(shape: str) -> None:
    with pytest.raises(Unsupported, match="resubmit"):
        Bench(shape=shape).backend.compile_native(policy(), left(Action.RESUBMIT))


@pytest.mark.parametrize(
    ("shape", "native"),
    [
        ("slurm", {"requeue": "yes"}),
        ("slurm", {"maxRestarts": "1"}),
        ("kubeflow", {"requeue": "1"}),
        ("kubeflow", {"maxRestarts": "-1"}),
        ("kubeflow", {"maxRestarts": "1000000"}),
    ],
    ids=str,
)
def test_an_order_that_says_something_else_is_invalid(shape: str, native: dict[str, str]) -> None:
    bench = Bench(shape=shape)
    with pytest.raises(Invalid, match=next(iter(native))):
        start(bench, native)
    assert bench.env.truths() == ()
