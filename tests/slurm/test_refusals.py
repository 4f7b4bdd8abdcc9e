"""Refusals that only a real Slurm gives: a policy that it cannot honour, and a controller that is away or hangs."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from dispatch.cli.exits import Exit
from lab import Lab
from processes import Place, check_refused
from slurm.conftest import NewLab

pytestmark = pytest.mark.slurm

CONFIG = """
[clusters.lab]
adapter = "slurm"
settings = {{ saveWindow = "1s", killMargin = "1s", callWindow = "5s", transport = {{ kind = "local", through = ["{login}"] }} }}
"""
JOB = {"name": "right", "command": ["true"]}
REFUSED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "restart": ({"recovery": {"rules": [{"when": ["NodeLost"], "do": "restart"}]}}, ("rules[0]", "restart", "resubmit")),
    "container": ({"container": {"image": "x"}}, ("container", "apptainer")),
    "notify": ({"recovery": {"notify": {"on": ["Failed"], "command": ["x"]}}}, ("notify",)),
    "after": ({"after": [{"job": "x"}]}, ("after",)),
    "matrix": ({"matrix": {"A": [1, 2]}}, ("matrix",)),
    "kubeflow": ({"kubeflow": {"runtime": "x"}}, ("kubeflow", "this cluster is Slurm")),
    "several": ({"priority": 1, "launcher": "mpi", "signalBefore": {"signal": "USR1", "lead": "1m"}}, ("priority", "launcher", "timeLimit")),
}  # fmt: skip


def place_of(lab: Lab, directory: Path) -> Place:
    return Place(directory, CONFIG.format(login=lab.login("alice")))


def objects(lab: Lab) -> str:
    return lab.text("root", "squeue", "-h", "-t", "all", "-o", "%i %j")


@pytest.mark.parametrize("name", REFUSED)
def test_what_slurm_cannot_honour_is_refused_with_every_reason(
    name: str, lab: Lab, tmp_path: Path
) -> None:
    fields, says = REFUSED[name]
    place, before = place_of(lab, tmp_path), objects(lab)
    file = place.write("j.json", {**JOB, **fields})
    check_refused(
        place, "submit", file, code=Exit.REFUSED, kind="Refused", says=says, afterwards=False
    )
    assert objects(lab) == before


@pytest.mark.parametrize(("fields", "says"), [
    ({"output": "%N.log"}, ("output", "'%N'", "%j (job)")),
    ({"slurm": {"options": {"wr": "touch x"}}}, ("slurm.options.wr", "belongs to the protocol")),
    ({"recovery": {"rules": [{"when": ["Preempted"], "do": "resubmit", "with": {"env": {"A": "x" * 131_071}}}]}},
     ("recovery.rules[0].with.env.A", "131071 bytes")),
])  # fmt: skip
def test_of_what_no_object_can_be_made_is_refused_by_its_field(
    fields: dict[str, Any], says: tuple[str, ...], lab: Lab, tmp_path: Path
) -> None:
    place, before = place_of(lab, tmp_path), objects(lab)
    file = place.write("j.json", {**JOB, **fields})
    check_refused(
        place, "submit", file, code=Exit.USAGE, kind="Invalid", says=says, afterwards=False
    )
    assert objects(lab) == before


def test_what_slurm_itself_refuses_ends_the_job_with_slurms_words(lab: Lab, tmp_path: Path) -> None:
    place, before = place_of(lab, tmp_path), objects(lab)
    said = place.run("submit", place.write("j.json", {**JOB, "partition": "nosuch"}))
    assert said.code == Exit.REFUSED, said
    assert "nvalid partition" in said.out
    [job] = place.jobs()
    assert (job["state"], job["cause"]) == ("Failed", "Rejected")
    assert objects(lab) == before


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_controller_that_does_not_answer_is_told_and_nothing_is_recorded(
    number: signal.Signals, new_lab: NewLab, tmp_path: Path
) -> None:
    lab = new_lab(message_timeout=2)
    place = place_of(lab, tmp_path)
    file = place.write("right.json", JOB)
    assert place.run("submit", file).code == Exit.OK
    before = place.kept()
    lab.kill("slurmctld", number)
    says = ("lab cannot be opened", "scontrol ping")
    check_refused(
        place,
        "submit",
        file,
        code=Exit.UNREACHABLE,
        kind="Unavailable",
        says=says,
        afterwards=False,
    )
    [job] = before
    assert place.run("show", job, "--json").code == Exit.OK  # what was recorded is still told
    if number is signal.SIGKILL:  # it tries for a minute
        told = place.run("stop", job, "--json", timeout=180)
        assert (told.code, told.error["kind"]) == (Exit.UNREACHABLE, "Unavailable"), told
        assert "The request is recorded" in told.error["what"]
    if number is signal.SIGSTOP:
        lab.kill("slurmctld", signal.SIGCONT)
    else:
        lab.start("slurmctld")
    assert place.run("stop", job, "--wait", timeout=180).code == Exit.OK
    assert place.run("submit", file).code == Exit.OK
    assert len(place.kept()) == 2
