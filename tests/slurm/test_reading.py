"""What real controllers of three releases tell, and what is made of it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from dispatch.adapters.slurm.reading import ReadSettings, Ref, encode_comment, read_jobs, read_nodes
from dispatch.model.epoch import ulid
from dispatch.model.errors import Unavailable
from dispatch.model.quantity import Duration
from dispatch.model.status import By, Cause, Gate, HoldSeen, ObjectKey, Observation, State
from dispatch.spi.transport import Completed
from lab import Lab, Options
from lab.host import SUITES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dispatch.spi.adapter import Reading
    from slurm.conftest import NewLab

pytestmark = pytest.mark.slurm

STORE = "01JZZZZZZZZZZZZZZZZZZZZZZS"
SETTINGS = ReadSettings(command_bound=Duration(seconds=25))


@dataclass
class Inside:
    """A transport into the lab, as alice."""

    lab: Lab

    async def run(
        self, script: str, args: Sequence[str] = (), *, stdin: bytes = b"", timeout: Duration
    ) -> Completed:
        command = [str(self.lab.login("alice")), "sh", "-c", script, "sh", *args]
        done = await asyncio.to_thread(
            subprocess.run,
            command,
            input=stdin,
            capture_output=True,
            timeout=timeout.total_seconds(),
            check=False,
        )
        return Completed(returncode=done.returncode, stdout=done.stdout, stderr=done.stderr)

    async def close(self) -> None:
        pass


def read(lab: Lab, *jobs: str) -> Reading:
    return asyncio.run(read_jobs(Inside(lab), jobs, SETTINGS))


def only(lab: Lab, job: str) -> Observation:
    (found,) = read(lab, job).observations
    return found


def until(
    lab: Lab, job: str, condition: Callable[[Observation], object], seconds: float = 30
) -> Observation:
    """Read the job until the condition holds, with a bound."""
    deadline = time.monotonic() + seconds
    while not condition(found := only(lab, job)):
        assert time.monotonic() < deadline, f"waited {seconds} s in vain; last seen: {found}"
        time.sleep(0.05)
    return found


@dataclass
class Made:
    """An object of the test's own."""

    lab: Lab
    job: str
    number: str
    base: int

    @property
    def ref(self) -> str:
        return str(
            Ref(number=int(self.number), job=self.job, submission=1, base=self.base, attempt="a1")
        )


def make(lab: Lab, body: str, *options: str, gated: bool = False) -> Made:
    """Submit a script under a name and marks of ours."""
    now = time.time()
    job, base = ulid(int(now * 1000), os.urandom(10)), int(now) + 315_576_000
    comment = encode_comment(
        ObjectKey(job=job, store=STORE, submission=1, attempt="a1"), base, "00ff"
    )
    gate = ["--hold", f"--begin=uts{base}"] if gated else []
    argv = [
        "sbatch",
        "--parsable",
        "-o",
        "/dev/null",
        "-J",
        f"dj-{job}",
        f"--comment={comment}",
        *gate,
        *options,
    ]
    script = f"#!/bin/sh\n{body}\n".encode()
    number = lab.run("alice", argv, input=script, check=True).stdout.decode().strip()
    return Made(lab, job, number, base)


def update(lab: Lab, made: Made, *what: str) -> None:
    lab.run("alice", ["scontrol", "update", f"JobId={made.number}", *what], check=True)


@pytest.fixture(scope="module", params=sorted(SUITES))
def any_lab(request: pytest.FixtureRequest, lab: Lab) -> Iterator[Lab]:
    """A cluster of each release."""
    if request.param == lab.options.suite:
        yield lab
        return
    options = Options(suite=request.param, accounting=True)
    with Lab.up(f"reading-{os.getpid()}-{request.param}", options, owner=os.getpid()) as own:
        yield own


def test_gate_hold_and_open_are_told_apart(any_lab: Lab) -> None:
    made = make(any_lab, "sleep 60", "--no-requeue", gated=True)
    found = only(any_lab, made.job)
    assert (found.ref, found.state, found.cause) == (made.ref, State.PENDING, Cause.GATED)
    assert (found.gate, found.hold, found.started, found.nodes) == (Gate.CLOSED, None, None, ())

    any_lab.run("alice", ["scontrol", "release", made.number], check=True)
    assert only(any_lab, made.job).gate is Gate.CLOSED  # a person's release opens nothing

    update(any_lab, made, f"StartTime=uts{made.base + 3}")
    found = only(any_lab, made.job)
    assert (found.gate, found.hold) == (Gate.OPEN, HoldSeen(instance=3))

    update(any_lab, made, "StartTime=now")
    found = until(any_lab, made.job, lambda seen: seen.state is State.RUNNING)
    assert (found.gate, len(found.nodes)) == (Gate.OPEN, 1)

    any_lab.run("root", ["scancel", made.number], check=True)
    # Who it was is accounting's to tell, and accounting lags behind.
    found = until(any_lab, made.job, lambda seen: not seen.cleaning and seen.verdict.detail.by)
    assert (found.cause, found.verdict.detail.by, found.final) == (
        Cause.CANCELLED,
        By.ADMINISTRATOR,
        True,
    )


def test_holds_of_others_are_told_apart(any_lab: Lab) -> None:
    made = make(any_lab, "exit 0", "--begin=now+1hour")
    assert only(any_lab, made.job).cause is Cause.HELD
    any_lab.run("alice", ["scontrol", "hold", made.number], check=True)
    assert only(any_lab, made.job).hold == HoldSeen(by=By.OWNER)
    any_lab.run("root", ["scontrol", "hold", made.number], check=True)
    found = only(any_lab, made.job)
    assert (found.cause, found.hold) == (Cause.ADMIN_HELD, HoldSeen(by=By.ADMINISTRATOR))
    any_lab.run("alice", ["scancel", made.number], check=True)
    found = until(any_lab, made.job, lambda seen: seen.verdict.detail.by)
    assert (found.verdict.detail.by, found.started) == (By.OWNER, None)


def test_ends_read_right(any_lab: Lab) -> None:
    """Accounting lags behind the queue by some seconds; until then an exit is not proven."""
    right = {
        "exit 0": (State.SUCCEEDED, None, None),
        "exit 3": (State.FAILED, Cause.NON_ZERO_EXIT, 3),
        "kill -SEGV $$": (State.FAILED, Cause.SIGNALLED, None),
        "srun sh -c 'exit 5'": (State.FAILED, Cause.NON_ZERO_EXIT, 5),
    }
    made = {body: make(any_lab, body, "--no-requeue") for body in right}
    for body, (state, cause, code) in right.items():
        found = until(
            any_lab,
            made[body].job,
            lambda seen: seen.state.ended and seen.cause is not Cause.UNKNOWN,
        )
        assert (found.state, found.cause, found.final, found.verdict.proven) == (
            state,
            cause,
            True,
            True,
        )
        assert code is None or found.verdict.detail.exit_code == code


def test_a_requeued_job_is_pending_in_its_next_run(any_lab: Lab) -> None:
    made = make(any_lab, "sleep 60", "--requeue")
    until(any_lab, made.job, lambda seen: seen.state is State.RUNNING)
    any_lab.run("alice", ["scontrol", "requeue", made.number], check=True)
    found = until(any_lab, made.job, lambda seen: seen.restarts == 1 and not seen.cleaning)
    assert (found.ref, found.state, found.cause, found.requeue) == (
        made.ref,
        State.PENDING,
        Cause.REQUEUED,
        True,
    )
    any_lab.run("alice", ["scancel", made.number], check=True)
    assert not until(any_lab, made.job, lambda seen: seen.state.ended).final


def test_hundreds_of_names_are_read_in_one_call(any_lab: Lab) -> None:
    made = make(any_lab, "sleep 1", gated=True)
    others = [ulid(1_796_000_000_000, os.urandom(10)) for _ in range(399)]
    (found,) = read(any_lab, *others, made.job).observations
    assert found.ref == made.ref


def test_nodes_are_read_by_name_or_by_what_an_object_could_have_used(any_lab: Lab) -> None:
    made = make(any_lab, "sleep 1", gated=True)
    named = asyncio.run(read_nodes(Inside(any_lab), ["n1", "n99"], made.ref, SETTINGS))
    assert [(one.name, one.responding) for one in named] == [("n1", True), ("n99", False)]
    every = asyncio.run(read_nodes(Inside(any_lab), [], made.ref, SETTINGS))
    assert {one.name for one in every} == set(any_lab.nodes)


def test_a_purged_job_is_known_to_accounting_alone(new_lab: NewLab) -> None:
    own = new_lab(accounting=True, min_job_age=2)
    ended = make(own, "exit 3", "--requeue")
    gated = make(own, "exit 0", gated=True)
    own.run("alice", ["scancel", gated.number], check=True)
    found = until(own, ended.job, lambda seen: seen.final, seconds=90)
    assert (found.cause, found.verdict.detail.exit_code) == (Cause.NON_ZERO_EXIT, 3)
    found = until(own, gated.job, lambda seen: seen.final, seconds=90)
    assert (found.cause, found.started) == (Cause.CANCELLED, None)


def test_a_dead_and_a_hung_controller_are_unavailable_and_a_new_one_has_another_boot(
    new_lab: NewLab,
) -> None:
    own = new_lab(message_timeout=2)
    made = make(own, "exit 0", gated=True)
    before = read(own, made.job)
    own.kill("slurmctld", signal.SIGSTOP)
    with pytest.raises(Unavailable, match="scontrol show config"):
        read(own, made.job)
    own.kill("slurmctld", signal.SIGCONT)
    assert read(own, made.job).boot == before.boot
    own.kill("slurmctld", signal.SIGTERM)
    with pytest.raises(Unavailable, match="Unable to contact"):
        read(own, made.job)
    own.start("slurmctld")
    after = read(own, made.job)
    assert after.boot != before.boot
    assert [seen.ref for seen in after.observations] == [made.ref]


TICKET = """
mkdir -p ~/.dispatch/runs/$1 && cd ~/.dispatch/runs/$1 || exit 1
printf '%s\\n' epoch=1000000 attempt=a1 jobid=$SLURM_JOB_ID node=$SLURMD_NODENAME nodes=$SLURM_JOB_NODELIST >1000000.start
"""
"""As the job script leaves it."""


def forget_a_start(own: Lab) -> Observation:
    """Kill the controller just after a start, and read what the next one knows of it."""
    made = make(own, "sleep 60", "--no-requeue", gated=True)
    time.sleep(6)  # the job itself must be saved: the controller saves every 5 s
    own.run("alice", ["scontrol", "release", made.number], check=True)
    update(own, made, "StartTime=now")
    until(own, made.job, lambda seen: seen.state is State.RUNNING)
    environment = f"SLURM_JOB_ID={made.number} SLURMD_NODENAME=n1 SLURM_JOB_NODELIST=n1"
    script = TICKET.replace("$1", made.job)
    own.run("alice", ["env", *environment.split(), "sh", "-c", script], check=True)
    own.kill("slurmctld", signal.SIGKILL)
    own.start("slurmctld", "-i")
    return only(own, made.job)


def test_a_start_that_the_controller_forgot_is_seen_by_its_ticket(new_lab: NewLab) -> None:
    own = new_lab()
    # Where the controller happened to save between the start and its end, it forgot nothing.
    seen = next(
        one for one in (forget_a_start(own) for _ in range(5)) if one.state is not State.RUNNING
    )
    assert (seen.state, seen.cause) == (State.PENDING, Cause.FORGOTTEN)
    assert seen.verdict.detail.nodes == ("n1",)
