"""The job: what its value refuses, and which parts of the vocabulary it uses."""

from __future__ import annotations

from typing import Any

import pytest

from dispatch.model.answers import Action, Feature
from dispatch.model.codec import decode, encode
from dispatch.model.errors import Invalid
from dispatch.model.job import (
    After,
    Container,
    Job,
    KubeflowOptions,
    Launcher,
    SecretSource,
    SignalBefore,
    SlurmOptions,
    features_of,
)
from dispatch.model.policy import (
    ExcludeNodes,
    Notify,
    NotifyOn,
    PendingNotice,
    Policy,
    Rule,
)
from dispatch.model.quantity import Duration
from dispatch.model.status import Cause, State

SECRET = SecretSource(file="~/.wandb")


def job(**fields: Any) -> Job:
    values: dict[str, Any] = {"command": ("train",), **fields}
    return Job(**values)


def paths(**fields: Any) -> list[str]:
    with pytest.raises(Invalid) as error:
        job(**fields)
    return [fault.path for fault in error.value.faults]


def test_the_smallest_job_is_a_command() -> None:
    assert encode(job()) == b'{"command":["train"]}'
    assert decode(b'{"command":["train"]}', Job) == job()


def test_the_reserved_prefix_is_refused_in_either_environment() -> None:
    found = paths(env={"DISPATCH_EPOCH": "1", "A": "1"}, secret_env={"DISPATCH_X": SECRET})
    assert found == ["env.DISPATCH_EPOCH", "secretEnv.DISPATCH_X"]


def test_a_name_that_only_resembles_the_reserved_prefix_is_allowed() -> None:
    assert job(env={"DISPATCHER": "1", "MY_DISPATCH_X": "1"}).env


def test_a_variable_is_either_open_or_secret() -> None:
    assert paths(env={"A": "1"}, secret_env={"A": SECRET}) == ["secretEnv.A"]


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"command": ("",)}, "command[0]"),
        ({"gpu_type": "h100"}, "gpuType"),
        ({"max_active": 2}, "maxActive"),
    ],
)
def test_what_makes_no_sense_alone_is_refused(fields: dict[str, Any], path: str) -> None:
    assert paths(**fields) == [path]


def test_every_fault_is_told_at_once() -> None:
    assert len(paths(command=("",), gpu_type="h100", max_active=2, env={"DISPATCH_A": ""})) == 4


def test_what_makes_sense_together_is_accepted() -> None:
    made = job(gpu_type="h100", gpus_per_node=8, max_active=2, matrix={"lr": ("1",)})
    assert made.max_active == 2


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"command":[]}',
        '{"command":"train.py"}',
        '{"command":["a"],"nodes":0}',
        '{"command":["a"],"nodes":1.5}',
        '{"command":["a"],"name":""}',
        '{"command":["a"],"name":"a\\nb"}',
        '{"command":["a"],"env":{"a-b":"1"}}',
        '{"command":["a"],"env":{"A":1}}',
        '{"command":["a"],"partition":"gpu; rm"}',
        '{"command":["a"],"partition":"-x"}',
        '{"command":["a"],"signalBefore":{"signal":"SIGusr1","lead":"5m"}}',
        '{"command":["a"],"slurm":{"options":{"--hold":true}}}',
        '{"command":["a"],"gpu":1}',
    ],
)
def test_a_job_is_decoded_strictly(text: str) -> None:
    with pytest.raises(Invalid):
        decode(text, Job)


@pytest.mark.parametrize(
    ("launcher", "tasks"),
    [
        (Launcher.PLAIN, 2),
        (Launcher.TORCHRUN, 2),
        (Launcher.SRUN, 8),
        (Launcher.MPI, 8),
    ],
)
def test_how_many_processes_run_depends_on_the_launcher(launcher: Launcher, tasks: int) -> None:
    assert job(launcher=launcher, nodes=2, tasks_per_node=4).total_tasks == tasks


def test_a_policy_that_is_only_named_is_no_policy_yet() -> None:
    assert job(recovery="spot").policy is None
    assert job().policy is None
    assert job(recovery=Policy()).policy == Policy()


def policy(**fields: Any) -> dict[str, Any]:
    return {"recovery": Policy(**fields)}


RULE = Rule(when=(Cause.NODE_LOST,), do=Action.RESUBMIT, exclude_nodes=ExcludeNodes())
USES: dict[Feature, dict[str, Any]] = {
    Feature.LAUNCHER_TORCHRUN: {"launcher": Launcher.TORCHRUN},
    Feature.LAUNCHER_SRUN: {"launcher": Launcher.SRUN},
    Feature.LAUNCHER_MPI: {"launcher": Launcher.MPI},
    Feature.CONTAINER: {"container": Container(image="i")},
    Feature.SETUP: {"setup": ("module load cuda",)},
    Feature.OUTPUT: {"output": "o.log"},
    Feature.SECRET_ENV: {"secret_env": {"A": SECRET}},
    Feature.GPUS: {"gpus_per_node": 1},
    Feature.EXCLUSIVE: {"exclusive": True},
    Feature.SIGNAL_BEFORE: {"signal_before": SignalBefore(signal="USR1", lead=Duration(minutes=5))},
    Feature.PARTITION: {"partition": "p"},
    Feature.ACCOUNT: {"account": "a"},
    Feature.QOS: {"qos": "q"},
    Feature.CONSTRAINT: {"constraint": "c"},
    Feature.PRIORITY: {"priority": 0},
    Feature.AFTER: {"after": (After(job="prep", state=State.SUCCEEDED),)},
    Feature.MATRIX: {"matrix": {"lr": ("1",)}},
    Feature.SLURM_OPTIONS: {"slurm": SlurmOptions()},
    Feature.KUBEFLOW_OPTIONS: {"kubeflow": KubeflowOptions()},
    Feature.EXCLUDE_NODES: policy(rules=(RULE,)),
    Feature.NOTIFY: policy(notify=Notify(on=(NotifyOn.HELD,), command=("mail",))),
    Feature.PENDING_NOTICE: policy(pending=PendingNotice(longer_than=Duration(hours=1))),
}


def test_every_feature_is_used_by_some_job() -> None:
    assert set(USES) == set(Feature)


@pytest.mark.parametrize("feature", Feature)
def test_a_job_uses_the_features_that_it_names_and_no_other(feature: Feature) -> None:
    assert features_of(job(**USES[feature])) == {feature}


def test_a_plain_job_uses_none() -> None:
    assert features_of(job(nodes=4, memory=None, recovery=Policy())) == frozenset()
