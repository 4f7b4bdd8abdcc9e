"""The verbs: their real scripts, run against stand-ins for Slurm's commands."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from adapters.slurm.writing.fake_slurm import FakeSlurm
from dispatch.adapters.slurm.reading import Ref
from dispatch.adapters.slurm.writing import Writer
from dispatch.model.errors import (
    Busy,
    Conflict,
    DispatchError,
    Expired,
    Finished,
    Invalid,
    NotFound,
    OutcomeUnknown,
    Rejected,
    Unavailable,
)
from dispatch.model.job import Job
from dispatch.model.quantity import Duration
from dispatch.spi.adapter import CallMeta, StartOrder
from dispatch.transports import LocalTransport

ULID = "01JDQZ8GV2XK5R7N3M9P4T6W8Y"
BASE = 2_111_581_156
REF = Ref(number=77, job=ULID, submission=1, base=BASE, attempt="tok")
SOON = CallMeta(deadline=datetime.now(UTC) + timedelta(hours=1))
PAST = CallMeta(deadline=datetime.now(UTC) - timedelta(seconds=1))


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    fake = FakeSlurm(tmp_path)
    monkeypatch.setenv("HOME", str(fake.home))
    monkeypatch.setenv("PATH", f"{fake.bin}:/usr/local/bin:/usr/bin:/bin")
    return fake


def writer() -> Writer:
    return Writer(LocalTransport(), bound=Duration(seconds=10), shared="$HOME/runs")


def start(**job: Any) -> Ref:
    job.setdefault("command", ("true",))
    order = StartOrder(
        id=ULID, job=Job(**job), spec_hash="ab" * 32, store="S" * 26, submission=1, attempt="tok", base=BASE,
        exclude=("n7", "n8"),
    )  # fmt: skip
    return asyncio.run(writer().start(order, SOON))


def open_(meta: CallMeta = SOON) -> None:
    asyncio.run(writer().open(REF, meta))


def stop(ref: Ref = REF) -> None:
    asyncio.run(writer().stop(ref, SOON))


def hold(instance: int) -> None:
    asyncio.run(writer().hold(REF, instance, SOON))


def release(instance: int, *, opened: bool = False) -> None:
    asyncio.run(writer().release(REF, instance, replace(SOON, opened=opened)))


def hold_first() -> None:
    hold(1)


def release_first() -> None:
    release(1)


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


# ------------------------------------------------------------------------- open and holds


def test_open_releases_and_clears_the_begin_time(slurm: FakeSlurm) -> None:
    start()
    open_()
    assert slurm.writes[1:] == ["scontrol release 77", "scontrol update JobId=77 StartTime=now"]
    open_()
    assert len(slurm.writes) == 3


def test_open_finishes_what_a_crash_left_half_done(slurm: FakeSlurm) -> None:
    start()
    slurm.set(Priority="1", Reason="BeginTime")
    open_()
    assert slurm.writes[1:] == ["scontrol update JobId=77 StartTime=now"]


def test_a_hold_survives_open(slurm: FakeSlurm) -> None:
    start()
    hold(3)
    open_()
    assert slurm.field("StartTime") == str(BASE + 3)
    release(3)
    assert slurm.field("StartTime") == "Unknown"


def test_a_hold_that_is_released_before_open_leaves_the_gate(slurm: FakeSlurm) -> None:
    start()
    hold(3)
    release(3)
    assert (slurm.field("StartTime"), slurm.field("Priority")) == (str(BASE), "0")


def test_a_release_of_what_was_opened_leaves_the_hold_that_somebody_else_has_placed_on_it(
    slurm: FakeSlurm,
) -> None:
    # Back at base + 0 beneath their flag it would be gated, as if its open had been forgotten.
    start()
    hold(3)
    open_()
    slurm.set(Priority="0", Reason="JobHeldUser")
    before = slurm.writes
    with pytest.raises(Conflict, match="somebody else"):
        release(3, opened=True)
    assert slurm.writes == before
    slurm.set(Priority="1", Reason="BeginTime")
    release(3, opened=True)
    assert slurm.field("StartTime") == "Unknown"


def test_a_release_that_names_an_old_hold_lifts_nothing(slurm: FakeSlurm) -> None:
    start()
    hold(4)
    before = slurm.writes
    with pytest.raises(Conflict, match="hold 4"):
        release(3)
    with pytest.raises(Conflict):
        hold(3)
    assert slurm.writes == before


def test_a_hold_that_is_placed_twice_is_one(slurm: FakeSlurm) -> None:
    start()
    hold(3)
    before = slurm.writes
    hold(3)
    assert slurm.writes == before


def test_a_persons_hold_is_never_lifted(slurm: FakeSlurm) -> None:
    start()
    open_()
    slurm.set(Priority="0", Reason="JobHeldUser")
    before = slurm.writes
    open_()
    assert slurm.writes == before


def test_an_administrators_hold_is_a_conflict(slurm: FakeSlurm) -> None:
    start()
    slurm.set(Reason="JobHeldAdmin")
    with pytest.raises(Conflict, match="administrator"):
        open_()
    assert len(slurm.writes) == 1


def test_a_running_object_cannot_be_held(slurm: FakeSlurm) -> None:
    start()
    slurm.set(JobState="RUNNING")
    with pytest.raises(Conflict, match="RUNNING"):
        hold(1)
    open_()
    assert len(slurm.writes) == 1


@pytest.mark.parametrize("verb", [open_, hold_first, release_first])
def test_what_has_ended_is_finished(slurm: FakeSlurm, verb: Any) -> None:
    start()
    slurm.set(JobState="FAILED")
    with pytest.raises(Finished):
        verb()
    stop()
    assert len(slurm.writes) == 1


@pytest.mark.parametrize("instance", [0, -1, 1_000_000])
def test_a_hold_instance_is_within_its_range(slurm: FakeSlurm, instance: int) -> None:
    with pytest.raises(Invalid):
        hold(instance)
    with pytest.raises(Invalid):
        release(instance)


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
