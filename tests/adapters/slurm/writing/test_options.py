"""A job's wishes as options, the settings, and what follows from a cluster's configuration."""

from __future__ import annotations

import pytest

from dispatch.adapters.slurm.cluster import answers_of, declarations_of, read_cluster
from dispatch.adapters.slurm.settings import Settings, decode_settings
from dispatch.adapters.slurm.writing.options import sbatch_options
from dispatch.model.answers import Action, AnswerSource, Capability, Feature
from dispatch.model.errors import Invalid
from dispatch.model.job import Job, SignalBefore, SlurmOptions
from dispatch.model.quantity import Duration, Size, TimeLimit
from dispatch.spi.adapter import StartOrder

CONFIG = """Configuration data as of 1796004461
AccountingStorageType   = {accounting}
ClusterName             = lab
KillWait                = 5 sec
MessageTimeout          = 10 sec
MinJobAge               = 300 sec
"""


def options(job: Job) -> list[str]:
    return sbatch_options(
        StartOrder(id="x", job=job, spec_hash="a", store="s", submission=1, attempt="a", base=1)
    )


def test_each_field_becomes_its_option() -> None:
    job = Job(
        command=("true",), nodes=16, tasks_per_node=8, cpus_per_task=4, gpus_per_node=8, gpu_type="h100",
        memory=Size.parse("200G"), exclusive=True, time_limit=TimeLimit.parse("61s"), partition="gpu", account="nlp",
        qos="high", constraint="ib&nvme", signal_before=SignalBefore(signal="USR1", lead=Duration.parse("5m")),
        slurm=SlurmOptions(options={"reservation": "launch", "nice": 10, "spread-job": True, "overcommit": False}),
    )  # fmt: skip
    assert options(job) == [
        "--nodes=16", "--ntasks-per-node=8", "--cpus-per-task=4", "--gres=gpu:h100:8", "--mem=190735M", "--time=2",
        "--signal=USR1@300", "--partition=gpu", "--account=nlp", "--qos=high", "--constraint=ib&nvme", "--exclusive",
        "--reservation=launch", "--nice=10", "--spread-job",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "hold",
        "begin",
        "requeue",
        "no-requeue",
        "job-name",
        "comment",
        "array",
        "wrap",
        "export",
        "output",
        "chdir",
        "nodes",
        "jobname"[:3],
        "parsab",
        "test-only",
        "wait",
    ],
)
def test_what_the_protocol_or_a_field_owns_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as caught:
        options(Job(command=("true",), slurm=SlurmOptions(options={name: "x", "nice": "a\nb"})))
    assert [fault.path for fault in caught.value.faults] == [
        f"slurm.options.{name}",
        "slurm.options.nice",
    ]


def test_a_lead_beyond_slurms_limit_is_refused() -> None:
    with pytest.raises(Invalid, match="65535s"):
        options(
            Job(
                command=("true",),
                signal_before=SignalBefore(signal="USR1", lead=Duration.parse("1d")),
            )
        )


@pytest.mark.parametrize("shared", ["/lustre/runs", "~/runs", "$HOME/runs"])
def test_a_shared_directory_is_absolute_or_of_the_home(shared: str) -> None:
    assert decode_settings({"sharedDir": shared}).shared_dir == shared


@pytest.mark.parametrize("shared", ["runs", "~bob/runs", "$TMP/runs", "", "/a\nb"])
def test_any_other_shared_directory_is_refused(shared: str) -> None:
    with pytest.raises(Invalid, match="sharedDir"):
        decode_settings({"sharedDir": shared})


@pytest.mark.parametrize("command", ["ssh", "/usr/bin/ssh"])
def test_a_way_that_would_quote_nothing_is_refused(command: str) -> None:
    with pytest.raises(Invalid) as refused:
        decode_settings({"transport": {"through": [command, "login1"]}})
    assert [fault.path for fault in refused.value.faults] == ["transport.through[0]"]


def test_every_fault_of_the_settings_is_told() -> None:
    with pytest.raises(Invalid) as caught:
        decode_settings(
            {"transprot": {}, "transport": {"kind": "telnet", "port": 1}, "callWindow": "soon"}
        )
    assert {fault.path for fault in caught.value.faults} == {
        "transprot",
        "transport.kind",
        "transport.port",
        "callWindow",
    }


@pytest.mark.parametrize("version", ["slurm 21.08.8", "slurm-wlm 20.11.4", "no slurm"])
def test_an_old_release_is_refused(version: str) -> None:
    with pytest.raises(Invalid):
        read_cluster(version, CONFIG.format(accounting="(null)"))


def test_the_declarations_follow_from_the_configuration() -> None:
    cluster = read_cluster("slurm-wlm 24.11.5", CONFIG.format(accounting="(null)"), skew_ms=500)
    declared = declarations_of(cluster, Settings())
    assert declared.call_bound == Duration(seconds=25)
    assert declared.kill_wait == Duration(seconds=15)
    assert declared.evidence_window == Duration(minutes=5)
    assert declared.clock_skew == Duration.of_ms(2_500)


def test_every_answer_has_a_reason_and_every_question_an_answer() -> None:
    for accounting, yes in (("(null)", False), ("accounting_storage/slurmdbd", True)):
        answers = answers_of(read_cluster("slurm 23.11.4", CONFIG.format(accounting=accounting)))
        assert set(answers.capabilities) == set(Capability)
        assert set(answers.rules) == set(answers.native) == set(Action)
        assert set(answers.features) == set(Feature)
        every = [
            *answers.capabilities.values(),
            *answers.rules.values(),
            *answers.native.values(),
            *answers.features.values(),
        ]
        assert all(answer.reason for answer in every)
        history = answers.capability(Capability.ACCOUNTING_HISTORY)
        assert (history.yes, history.source) == (yes, AnswerSource.READ)
        assert "23.11.4" in answers.capability(Capability.GATE).reason
        assert not any(answer.yes for answer in answers.native.values())
