"""What the cluster says of itself, and the answers and declarations that follow: values in, values out."""

from __future__ import annotations

import re

from dispatch.adapters.slurm.settings import Settings
from dispatch.model.answers import (
    Action,
    Answer,
    Answers,
    AnswerSource,
    Capability,
    Declarations,
    Feature,
    Tristate,
)
from dispatch.model.base import Value
from dispatch.model.errors import Invalid
from dispatch.model.quantity import Duration

OLDEST = (22, 5)
RUN_IN_CI = ((22, 5), (24, 11), (26, 5))

TWO_NODES = 2
"""One node that finds its own ticket again shares nothing."""

_VERSION = re.compile(r"\b(\d\d)\.(\d\d)(?:\.\d+)?\S*")
_SECONDS = re.compile(r"(\d+) sec")


class Cluster(Value):
    """The configuration of a cluster, as far as it bears on us; times in seconds."""

    name: str
    version: str
    kill_wait: int
    min_job_age: int
    message_timeout: int
    accounting: bool
    skew_ms: int = 0
    """How far the login host's clock is from ours, either way."""

    @property
    def release(self) -> tuple[int, int]:
        """Year and month of the release."""
        return release_of(self.version)


def release_of(version: str) -> tuple[int, int]:
    """Year and month in what ``sbatch --version`` prints. Raises ``Invalid`` for what is none, or too old."""
    found = _VERSION.search(version)
    if found is None:
        raise Invalid(
            f"This is no version of Slurm: {version!r}.",
            todo="See what sbatch --version prints there.",
        )
    release = int(found[1]), int(found[2])
    if release < OLDEST:
        raise Invalid(
            f"The cluster runs Slurm {found[0]}, which is too old.",
            todo="Slurm 22.05 and newer are supported.",
        )
    return release


def read_cluster(version: str, config: str, *, skew_ms: int = 0) -> Cluster:
    """Read the text of ``scontrol show config``, the one form that all releases have. Raises ``Invalid``."""
    release_of(version)
    said = {
        name.strip(): value.strip()
        for name, mark, value in (line.partition("=") for line in config.splitlines())
        if mark
    }
    missing = [
        name
        for name in ("ClusterName", "KillWait", "MinJobAge", "MessageTimeout")
        if name not in said
    ]
    if missing:
        raise Invalid(
            f"scontrol show config does not tell {', '.join(missing)}.",
            todo="Run it there and see what it prints.",
        )
    accounting = said.get("AccountingStorageType", "")
    return Cluster(
        name=said["ClusterName"],
        version=version.rsplit(maxsplit=1)[-1],
        kill_wait=_seconds(said["KillWait"]),
        min_job_age=_seconds(said["MinJobAge"]),
        message_timeout=_seconds(said["MessageTimeout"]),
        accounting=accounting not in ("", "(null)", "accounting_storage/none"),
        skew_ms=skew_ms,
    )


def command_bound(cluster: Cluster) -> Duration:
    """The time within which all commands of one write end: one request that times out and its read back, or two such.

    A client waits MessageTimeout for an answer; ``timeout`` ends whatever retries beyond that.
    """
    return Duration(seconds=2 * cluster.message_timeout + 3)


def declarations_of(cluster: Cluster, settings: Settings) -> Declarations:
    """Work out the bounds that every supervisor of a job here shares."""
    return Declarations(
        # timeout -k 1, and the whole seconds that the shell counts in.
        call_bound=Duration(seconds=command_bound(cluster).ms // 1_000 + 2),
        call_window=settings.call_window,
        save_window=settings.save_window,
        # A MinJobAge of 0 purges nothing.
        evidence_window=Duration(days=1)
        if cluster.accounting or cluster.min_job_age == 0
        else Duration(seconds=cluster.min_job_age),
        clock_skew=Duration.of_ms(2_000 + cluster.skew_ms),
        kill_wait=Duration.of_ms(cluster.kill_wait * 1_000 + settings.kill_margin.ms),
    )


def answers_of(cluster: Cluster, ticket_nodes: int = 0) -> Answers:
    """Work out what the cluster can do, as far as its configuration tells; nothing is run to probe it.

    ``ticket_nodes`` is how many nodes, two at the most, have left a start ticket that the login host reads.
    """
    return Answers(
        capabilities=_capabilities(cluster, ticket_nodes),
        rules=_rules(),
        native=dict.fromkeys(Action, _NATIVE),
        features=_features(),
    )


def _declared(value: Tristate, reason: str) -> Answer:
    return Answer(value=value, source=AnswerSource.DECLARED, reason=reason)


def _yes(reason: str) -> Answer:
    return _declared(Tristate.YES, reason)


def _no(reason: str) -> Answer:
    return _declared(Tristate.NO, reason)


# Slurm's own restart begins after 121 s whether or not the lost node's processes live, and counts nothing (12, B2).
_NATIVE = _no("the supervisor carries it out: objects are submitted with --no-requeue")


def _capabilities(cluster: Cluster, ticket_nodes: int) -> dict[Capability, Answer]:
    tested = (
        ""
        if cluster.release in RUN_IN_CI
        else f"; Slurm {cluster.version} itself is not run in our tests"
    )
    return {
        Capability.GATE: _yes(
            f"sbatch --hold with a far begin time{tested}; read back at each submission"
        ),
        Capability.HOLD: _yes(
            f"a begin time of its own for each hold, exact to the second{tested}"
        ),
        Capability.REQUEUE: _no(
            "objects are submitted with --no-requeue, which makes an end final"
        ),
        Capability.ACCOUNTING_HISTORY: Answer(
            value=Tristate.YES if cluster.accounting else Tristate.NO,
            source=AnswerSource.READ,
            reason="AccountingStorageType"
            + (" is set" if cluster.accounting else " is none: only the queue is read"),
        ),
        Capability.READMISSION_GATE: _no("objects are never restarted in place"),
        Capability.WATCH: _no("Slurm is polled"),
        Capability.OUTPUT: _yes("the output file is read on the login host"),
        Capability.CESSATION: _yes(
            "scontrol show node tells whether a lost node has registered again"
        ),
        Capability.FENCE: _fence(ticket_nodes),
    }


def _fence(ticket_nodes: int) -> Answer:
    """Whether a second launch is refused: every script takes a ticket, but only a directory that nodes share tells (12, O4)."""
    if ticket_nodes >= TWO_NODES:
        return Answer(
            value=Tristate.YES,
            source=AnswerSource.READ,
            reason="start tickets that two nodes wrote are read in sharedDir, so the nodes share it",
        )
    return Answer(
        value=Tristate.UNKNOWN,
        source=AnswerSource.READ,
        reason="no start tickets of two nodes are in sharedDir yet, so it is not proven that the nodes share it",
    )


def _rules() -> dict[Action, Answer]:
    return {
        Action.RESUBMIT: _yes("submission N+1 is a new object"),
        Action.HOLD: _yes("holds are begin times"),
        Action.FAIL: _yes("nothing has to be done"),
        Action.RESTART: _no("objects are ended for good (--no-requeue); resubmit instead"),
    }


def _features() -> dict[Feature, Answer]:
    no = {
        Feature.LAUNCHER_MPI: "start the MPI program with launcher: srun, or mpirun with launcher: plain",
        Feature.CONTAINER: "start the container in command, such as apptainer exec",
        Feature.PRIORITY: "pass slurm.options: {nice: …} or a qos",
        Feature.AFTER: "jobs that wait for others are not carried out yet",
        Feature.MATRIX: "submit one job for each point",
        Feature.NOTIFY: "notices are not sent yet",
        Feature.PENDING_NOTICE: "notices are not sent yet",
        Feature.KUBEFLOW_OPTIONS: "this cluster is Slurm",
    }
    return {
        feature: _no(no[feature])
        if feature in no
        else _yes("an option of sbatch or the job script")
        for feature in Feature
    }


def _seconds(text: str) -> int:
    found = _SECONDS.match(text)
    return int(found[1]) if found else 0
