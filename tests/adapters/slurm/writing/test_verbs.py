"""The verbs: their real scripts, run against stand-ins for Slurm's commands."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adapters.slurm.writing.fake_slurm import FakeSlurm
from adapters.slurm.writing.verbs import (
    BASE,
    PAST,
    REF,
    SOON,
    ULID,
    hold_first,
    open_,
    release_first,
    start,
    stop,
)
from dispatch.adapters.slurm.writing import Writer
from dispatch.model.errors import (
    Busy,
    Conflict,
    DispatchError,
    Expired,
    NotFound,
    OutcomeUnknown,
    Rejected,
    Unavailable,
)
from dispatch.model.job import Job
from dispatch.model.quantity import Duration
from dispatch.spi.adapter import StartOrder
from dispatch.transports import LocalTransport

# --------------------------------------------------------------------------------- start


def test_a_start_creates_a_gated_object_with_our_key(slurm: FakeSlurm) -> None:
    assert start() == REF
    (call,) = slurm.writes
    assert f"--hold --begin=uts{BASE} --no-requeue --job-name=dj-{ULID}" in call
    assert f"--comment=dispatch/1 store={'S' * 26} n=1 a=tok base={BASE} spec={'ab' * 8}" in call
    assert "--exclude=n7,n8" in call
    assert f"--output={slurm.home}/dispatch-{ULID}-1.out" in call
    assert (slurm.home / "script").read_text().startswith("#!/bin/bash\n# dispatch job script")


def test_a_person_and_a_daemon_submit_with_the_same_environment(
    slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    start()
    first = (slurm.home / "environment").read_text()
    for name in ("SBATCH_PARTITION", "SLURM_CLUSTERS", "SCONTROL_ALL", "TZ", "CONDA_PREFIX"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("PATH", f"/opt/other:{slurm.bin}:/usr/bin:/bin")
    start()
    assert (slurm.home / "environment").read_text() == first


@pytest.mark.parametrize(
    "says",
    [
        "77",
        "77;lab",
        "Submitted batch job 77",
        "INFO welcome\nINFO 12 jobs\nSubmitted batch job 77",
        "Submitted batch job 77 on cluster lab",
    ],
)
def test_the_number_is_found_behind_banners(slurm: FakeSlurm, says: str) -> None:
    slurm.fail(
        "sbatch",
        f"SAYS='{says}'; echo 'sbatch: temporarily unable to accept job, sleeping and retrying' >&2",
    )
    assert start() == REF


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("set_field Priority 1", "the hold"),
        ("set_field StartTime Unknown", "begin time"),
        ("set_field Requeue 1", "Requeue"),
        ("set_field JobName other", "its name to 'other'"),
        ("sed -i 's/Comment=.*/Comment=site/' job", "its comment to 'site'"),
    ],
)
def test_an_object_that_a_plugin_changed_is_stopped_and_refused(
    slurm: FakeSlurm, change: str, named: str
) -> None:
    slurm.plugin(change)
    with pytest.raises(Rejected, match=named):
        start()
    requeue = ["scontrol update JobId=77 Requeue=0"] if named == "Requeue" else []
    assert slurm.writes[1:] == [*requeue, "scancel 77"]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", OutcomeUnknown),
        ("sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)", Unavailable),
        ("sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified", Rejected),
        ("sbatch: error: Batch job submission failed: Invalid partition name specified", Rejected),
        ("sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)", Busy),
        ("sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy", Busy),
        ("sbatch: error: QOSMaxNodePerJobLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy", Rejected),
        ("sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\nsbatch: error: Batch job submission failed: Invalid qos specification", Rejected),
        ("sbatch: error: Socket timed out on send/recv operation\nsbatch: error: Unable to contact slurm controller (connect failure)", OutcomeUnknown),
        ("sbatch: error: no such luck today", OutcomeUnknown),
        ("", OutcomeUnknown),
    ],
)  # fmt: skip
def test_a_failed_submission_is_sorted_by_what_it_proves(
    slurm: FakeSlurm, said: str, kind: type[DispatchError]
) -> None:
    (slurm.home / "said").write_text(said)
    slurm.fail("sbatch", "cat said >&2; exit 1")
    with pytest.raises(DispatchError) as caught:
        start()
    assert type(caught.value) is kind


def test_a_submission_that_hangs_is_of_unknown_outcome(slurm: FakeSlurm) -> None:
    slurm.fail("sbatch", "sleep 60")
    order = StartOrder(
        id=ULID,
        job=Job(command=("true",)),
        spec_hash="ab",
        store="S",
        submission=1,
        attempt="tok",
        base=BASE,
    )
    short = Writer(LocalTransport(), bound=Duration(seconds=1), shared="/x")
    with pytest.raises(OutcomeUnknown, match="did not answer in time"):
        asyncio.run(short.start(order, SOON))


def test_a_submission_that_cannot_be_read_back_is_of_unknown_outcome(slurm: FakeSlurm) -> None:
    slurm.fail("scontrol", "echo 'Socket timed out' >&2; exit 1")
    with pytest.raises(OutcomeUnknown, match="could not be read back"):
        start()


def test_the_directory_of_the_output_is_made(slurm: FakeSlurm) -> None:
    start(output="logs/%j/%%a-%n.%r")
    assert f"--output={slurm.home}/logs/{ULID}/%%a-1.0" in slurm.writes[0]
    assert (slurm.home / "logs" / ULID).is_dir()


def test_a_missing_working_directory_is_refused_and_not_made(slurm: FakeSlurm) -> None:
    with pytest.raises(Rejected, match=r"working directory .*/gone does not exist"):
        start(workdir="~/gone", output="logs/x")
    assert slurm.writes == []
    assert not (slurm.home / "gone").exists()


def test_a_working_directory_of_the_nodes_alone_is_let_pass(slurm: FakeSlurm) -> None:
    start(workdir="/gone", output="~/logs/x")
    assert "--chdir=/gone" in slurm.writes[0]


def test_an_output_whose_directory_cannot_be_made_is_refused(slurm: FakeSlurm) -> None:
    (slurm.home / "logs").write_text("a file")
    with pytest.raises(Rejected, match="Correct output or workdir"):
        start(output="logs/x")
    assert slurm.writes == []


def test_a_call_that_begins_after_its_deadline_does_nothing(slurm: FakeSlurm) -> None:
    start()
    before = slurm.writes
    with pytest.raises(Expired):
        open_(PAST)
    assert slurm.writes == before


def test_values_never_reach_the_shell(slurm: FakeSlurm) -> None:
    (slurm.home / "$(touch pwned)`touch pwned`'\"").mkdir()
    start(workdir="~/$(touch pwned)`touch pwned`'\"", command=("$(touch pwned)",))
    assert not list(slurm.home.rglob("pwned"))


# ------------------------------------------------------------------------- stop, and keys


def test_stop_cancels_exactly_this_object(slurm: FakeSlurm) -> None:
    start()
    stop()
    assert slurm.writes[1:] == [f"scancel --ctld --me --name=dj-{ULID} 77"]


def test_stop_first_takes_away_the_requeue_bit(slurm: FakeSlurm) -> None:
    start()
    slurm.set(Requeue="1", JobState="RUNNING")
    stop()
    assert slurm.writes[1:] == [
        "scontrol update JobId=77 Requeue=0",
        f"scancel --ctld --me --name=dj-{ULID} 77",
    ]


def test_an_object_whose_requeue_bit_stays_is_not_cancelled(slurm: FakeSlurm) -> None:
    start()
    slurm.set(Requeue="1", JobState="RUNNING")
    slurm.fail("scontrol", '[ "$1" != update ] || exit 0')
    with pytest.raises(OutcomeUnknown, match="Requeue bit"):
        stop()
    assert not [call for call in slurm.writes if call.startswith("scancel")]


def test_a_cancel_without_effect_is_no_success(slurm: FakeSlurm) -> None:
    start()
    slurm.fail("scancel", "exit 0")
    with pytest.raises(OutcomeUnknown, match="still PENDING"):
        stop()


@pytest.mark.parametrize("verb", [open_, stop, hold_first, release_first])
def test_a_number_that_belongs_to_another_job_is_not_ours(slurm: FakeSlurm, verb: Any) -> None:
    start()
    slurm.set(JobName="train")
    with pytest.raises(NotFound, match="another job"):
        verb()
    assert len(slurm.writes) == 1


@pytest.mark.parametrize("verb", [open_, stop, hold_first, release_first])
def test_another_attempt_of_the_same_job_is_not_touched(slurm: FakeSlurm, verb: Any) -> None:
    start()
    text = (slurm.home / "job").read_text()
    (slurm.home / "job").write_text(text.replace(" a=tok ", " a=tok2 "))
    with pytest.raises(Conflict, match="attempt"):
        verb()
    assert len(slurm.writes) == 1


@pytest.mark.parametrize("verb", [open_, stop, hold_first, release_first])
def test_an_object_that_slurm_does_not_know_is_not_found(slurm: FakeSlurm, verb: Any) -> None:
    with pytest.raises(NotFound):
        verb()


def test_a_controller_that_is_away_before_the_write_did_nothing(slurm: FakeSlurm) -> None:
    start()
    slurm.fail(
        "scontrol",
        "echo 'slurm_load_jobs error: Socket timed out on send/recv operation' >&2; exit 1",
    )
    with pytest.raises(Unavailable):
        open_()
