"""What opening a Slurm refuses, and what it says that a cluster can do: no more than is known (12)."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from pathlib import Path

import pytest

from adapters.slurm.reading.given import Here
from dispatch.adapters.slurm.adapter import SlurmBackend
from dispatch.adapters.slurm.cluster import RUN_IN_CI, answers_of, declarations_of, read_cluster
from dispatch.adapters.slurm.opening import open_slurm
from dispatch.adapters.slurm.settings import Settings
from dispatch.model.answers import Action, AnswerSource, Capability, Tristate
from dispatch.model.errors import Invalid, Unavailable
from dispatch.model.quantity import Duration
from dispatch.shell.clusters import Cluster, EngineOptions
from dispatch.shell.ledger import Ledger
from dispatch.spi.adapter import AdapterConfig
from shell.world import World

CONFIG = """\
AccountingStorageType   = {accounting}
ClusterName             = alpha
KillWait                = 30 sec
MessageTimeout          = 10 sec
MinJobAge               = {age} sec
"""
FEDERATED = "Federation: fed1\\nSelf:       lab:127.0.0.1:21000 ID:1 FedState:ACTIVE Features:\\n"
"""As 26.05.5 prints it; a cluster in no federation prints nothing, with return code 0."""


class Played:
    """Programs that play the commands that an opening asks, and a home."""

    def __init__(self, place: Path) -> None:
        self.bin = place / "bin"
        self.shared = place / "shared"
        self.bin.mkdir()
        self.config = CONFIG.format(accounting="(null)", age=300)
        self.federation = "exit 0"
        self.release = "26.05.5"
        for name in ("squeue", "scancel"):
            self._play(name, "exit 0")

    def open(self, shared: Path | None = None) -> SlurmBackend:
        """Open the cluster that is played."""
        self._play("sbatch", f"echo 'slurm-wlm {self.release}'")
        (self.bin / "config").write_text(self.config)
        self._play(
            "scontrol",
            f"case $2 in config) cat {self.bin}/config ;; federation) {self.federation} ;; esac",
        )
        settings = Settings(shared_dir=str(shared or self.shared))
        config = AdapterConfig(adapter="slurm", alias="a")
        return asyncio.run(open_slurm(config, settings, Here(self.bin)))

    def _play(self, command: str, body: str) -> None:
        (self.bin / command).write_text(f"#!/bin/sh\n{body}\n")
        (self.bin / command).chmod(0o755)

    def ticket(self, job: str, epoch: int, node: str) -> None:
        """Leave a start ticket, as the job script does."""
        place = self.shared / job
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{epoch}.start").write_text(f"epoch={epoch}\nnode={node}\n")


@pytest.fixture
def played(tmp_path: Path) -> Played:
    return Played(tmp_path)


def test_a_cluster_of_its_own_is_opened_under_the_name_that_it_gives_itself(played: Played) -> None:
    identity = played.open().identity
    assert (identity.alias, identity.name, identity.version) == ("a", "alpha", "26.05.5")


def test_a_member_of_a_federation_is_refused(played: Played) -> None:
    played.federation = f"printf '{FEDERATED}'"
    with pytest.raises(Invalid, match="federation"):
        played.open()


def test_a_cluster_that_cannot_tell_of_its_federation_is_not_taken_for_one_of_its_own(
    played: Played,
) -> None:
    played.federation = "echo 'slurm_load_federation error: timed out' >&2; exit 1"
    with pytest.raises(Unavailable):
        played.open()


def test_the_fence_is_not_claimed_before_two_nodes_have_shown_that_they_share_the_directory(
    played: Played,
) -> None:
    fence = played.open().answers.capability(Capability.FENCE)
    assert fence.value is Tristate.UNKNOWN
    assert "not proven" in fence.reason
    played.ticket("01JZZZZZZZZZZZZZZZZZZZZZZA", 1_000_000, "n1")
    played.ticket("01JZZZZZZZZZZZZZZZZZZZZZZA", 2_000_000, "n1")
    assert played.open().answers.capability(Capability.FENCE).value is Tristate.UNKNOWN
    played.ticket("01JZZZZZZZZZZZZZZZZZZZZZZB", 1_000_000, "n2")
    fence = played.open().answers.capability(Capability.FENCE)
    assert (fence.value, fence.source) == (Tristate.YES, AnswerSource.READ)


def test_a_shared_directory_with_a_quote_and_a_space_in_its_name_is_only_a_name(
    played: Played, tmp_path: Path
) -> None:
    played.shared = tmp_path / "it's; exit 1 #"
    played.ticket("01JZZZZZZZZZZZZZZZZZZZZZZA", 1_000_000, "n1")
    played.ticket("01JZZZZZZZZZZZZZZZZZZZZZZA", 2_000_000, "n2")
    assert played.open().answers.capability(Capability.FENCE).yes


@pytest.mark.parametrize("release", ["22.05.8", "24.11.5", "26.05.5"])
def test_native_restart_is_no_on_every_release_with_its_reason(release: str) -> None:
    answers = answers_of(read_cluster(f"slurm {release}", CONFIG.format(accounting="x", age=300)))
    native = answers.native[Action.RESTART]
    assert native.value is Tristate.NO
    assert "--no-requeue" in native.reason
    assert answers.rule(Action.RESTART).value is Tristate.NO
    assert answers.capability(Capability.REQUEUE).value is Tristate.NO


@pytest.mark.parametrize("capability", Capability)
def test_what_a_cluster_cannot_do_or_is_not_known_to_do_has_a_reason(
    capability: Capability,
) -> None:
    for config in (
        CONFIG.format(accounting="(null)", age=300),
        CONFIG.format(accounting="x", age=0),
    ):
        answer = answers_of(read_cluster("slurm 26.05.5", config)).capabilities[capability]
        assert answer.reason


def test_a_release_that_our_tests_do_not_run_says_so_where_it_matters() -> None:
    assert (23, 11) not in RUN_IN_CI
    answers = answers_of(read_cluster("slurm 23.11.4", CONFIG.format(accounting="x", age=300)))
    for capability in (Capability.GATE, Capability.HOLD):
        assert "not run in our tests" in answers.capability(capability).reason


def test_without_accounting_the_evidence_lasts_as_long_as_the_queue_keeps_it() -> None:
    def window(accounting: str, age: int) -> Duration:
        cluster = read_cluster("slurm 26.05.5", CONFIG.format(accounting=accounting, age=age))
        return declarations_of(cluster, Settings()).evidence_window

    assert window("(null)", 300) == Duration(seconds=300)
    assert window("accounting_storage/slurmdbd", 2) == Duration(days=1)
    assert window("(null)", 0) == Duration(days=1), "0 purges nothing"


@pytest.mark.parametrize(("poll", "warned"), [(10, 0), (150, 0), (151, 1)])
def test_a_poll_of_more_than_half_the_evidence_window_is_warned_of_once(
    world: World, caplog: pytest.LogCaptureFixture, poll: int, warned: int
) -> None:
    assert world.backend.declarations.evidence_window == Duration(minutes=5)
    caplog.set_level(logging.WARNING)
    cluster = _cluster(world.process.ledger, timedelta(seconds=poll))
    cluster.use(world.backend)
    asyncio.run(cluster.engine())
    asyncio.run(cluster.engine())
    assert caplog.text.count("may be forgotten within") == warned


def _cluster(ledger: Ledger, poll: timedelta) -> Cluster:
    def unused() -> AdapterConfig:
        raise AssertionError

    return Cluster("c", unused, ledger, EngineOptions(poll=poll))
