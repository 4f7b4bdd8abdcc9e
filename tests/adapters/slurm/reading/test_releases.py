"""Releases before 23.11 are read as text; nodes are read alike of all releases."""

from __future__ import annotations

import asyncio

import pytest

from adapters.slurm.reading.given import SAMPLES, Here
from adapters.slurm.reading.played import REF, SETTINGS, Slurm, read
from dispatch.adapters.slurm.reading import read_nodes
from dispatch.adapters.slurm.reading.legacy import accounting_rows, queue_rows
from dispatch.model.errors import Invalid, Unavailable
from dispatch.model.status import Cause, Gate, State

# --- before 23.11: text


def test_the_text_of_22_05_reads_as_the_documents_do(slurm: Slurm) -> None:
    slurm.version("22.05.8")
    slurm.answer("squeue", (SAMPLES / "22.05/mixed.queue.txt").read_text())
    slurm.answer("sacct", (SAMPLES / "22.05/mixed.accounting.txt").read_text())
    jobs = {name: f"01K0000000000000000000000{name}" for name in "ABCDEFGHJKM"}
    found = {seen.key.job[-1]: seen for seen in read(slurm, *jobs.values()).observations}
    assert {name: (seen.state, seen.cause) for name, seen in found.items()} == {
        "A": (State.SUCCEEDED, None),
        "B": (State.FAILED, Cause.NON_ZERO_EXIT),
        "C": (State.FAILED, Cause.SIGNALLED),
        "D": (State.CANCELLED, Cause.CANCELLED),
        "E": (State.PENDING, Cause.GATED),
        "F": (State.PENDING, Cause.REQUEUED),
        "G": (State.PENDING, Cause.HELD),
        "H": (State.PENDING, Cause.HELD),
        "J": (State.SUCCEEDED, None),
        "K": (State.RUNNING, None),
        "M": (State.FAILED, Cause.NON_ZERO_EXIT),
    }
    assert found["H"].hold is not None
    assert (found["H"].hold.instance, found["H"].gate, found["E"].gate) == (
        3,
        Gate.CLOSED,
        Gate.CLOSED,
    )
    assert (found["F"].restarts, found["F"].requeue) == (1, True)
    assert found["B"].verdict.detail.exit_code == 3


def test_a_line_break_in_a_comment_breaks_no_other_row() -> None:
    text = (SAMPLES / "22.05/mixed.queue.txt").read_text()
    broken = text.replace("spec=0011", "spec=0011\nand more", 1)
    assert [row.number for row in queue_rows(broken)] == [row.number for row in queue_rows(text)]


@pytest.mark.parametrize("text", ["x", "7\x1fa", "7\x1fa\x1fRUNNING", "\x1f" * 13])
def test_a_line_that_is_cut_says_nothing(text: str) -> None:
    for rows in (queue_rows, accounting_rows):
        with pytest.raises(Unavailable):
            rows(text)


# --- nodes


@pytest.mark.parametrize("release", ["26.05", "24.11", "22.05"])
def test_nodes_are_reported_as_they_respond(slurm: Slurm, release: str) -> None:
    slurm.answer("scontrol", (SAMPLES / release / "nodes.txt").read_text())
    found = asyncio.run(read_nodes(Here(slurm.bin), ["n1", "n2", "n3", "n4"], REF, SETTINGS))
    assert [(one.name, one.responding, one.kill_failed) for one in found] == [
        ("n1", True, False), ("n2", True, True), ("n3", True, False), ("n4", False, False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("state", "responding"),
    [
        ("IDLE", True), ("MIXED+PLANNED", True), ("ALLOCATED+DRAIN", True), ("IDLE*", False), ("DOWN*", False),
        ("IDLE+NOT_RESPONDING", False), ("IDLE+CLOUD+POWERED_DOWN", False), ("IDLE~", False), ("UNKNOWN", False),
        ("DOWN+REBOOT_ISSUED", False), ("ALLOCATED@", True),
    ],
)  # fmt: skip
def test_a_state_says_whether_a_node_responds(slurm: Slurm, state: str, responding: bool) -> None:  # noqa: FBT001
    slurm.play("scontrol", f"echo 'NodeName=n1 OS=Linux State={state} Reason=x'")
    (found,) = asyncio.run(read_nodes(Here(slurm.bin), ["n1"], REF, SETTINGS))
    assert (found.responding, found.state) == (responding, state)


def test_a_node_that_is_not_there_does_not_respond(slurm: Slurm) -> None:
    slurm.play("scontrol", "echo 'NodeName=n1 State=IDLE '; echo 'Node n9 not found'; exit 1")
    found = asyncio.run(read_nodes(Here(slurm.bin), ["n1", "n9", "n10"], REF, SETTINGS))
    assert [(one.name, one.responding) for one in found] == [
        ("n1", True),
        ("n9", False),
        ("n10", False),
    ]


def test_without_names_every_node_of_its_partition_is_read(slurm: Slurm) -> None:
    slurm.play("sacct", "echo main,low")
    slurm.play(
        "scontrol",
        'case $2 in partition) echo "PartitionName=$3 Hidden=NO Nodes=$3[1-2] State=UP" ;;'
        ' node) echo "NodeName=x State=IDLE Reason=$4" ;; esac',
    )
    asyncio.run(read_nodes(Here(slurm.bin), [], REF, SETTINGS))
    assert "scontrol show node -o main[1-2],low[1-2]" in slurm.calls


@pytest.mark.parametrize(
    "body",
    ["echo 'Unable to contact slurm controller' >&2; exit 1", "echo nonsense", "exec sleep 30"],
)
def test_nodes_that_cannot_be_read_are_no_report(slurm: Slurm, body: str) -> None:
    slurm.play("scontrol", body)
    with pytest.raises(Unavailable):
        asyncio.run(read_nodes(Here(slurm.bin), ["n1"], REF, SETTINGS))


@pytest.mark.parametrize("name", ["", "n1;reboot", "$(x)", "n[1-2]", "-o", "a" * 100])
def test_what_is_no_nodes_name_reaches_no_shell(slurm: Slurm, name: str) -> None:
    with pytest.raises(Invalid):
        asyncio.run(read_nodes(Here(slurm.bin), [name], REF, SETTINGS))
