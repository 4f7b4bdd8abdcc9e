"""The read script and what is made of its output, with Slurm's commands played by small programs on the PATH."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from adapters.slurm.reading.given import BASE, COMMENT, JOB, KEY, STARTED, Here, sample
from adapters.slurm.reading.played import DISABLED, OTHER, REF, Slurm, as_ours, only, read
from dispatch.adapters.slurm.reading.read import oldest
from dispatch.model.epoch import ulid
from dispatch.model.errors import Invalid, Unavailable
from dispatch.model.status import By, Cause, State
from dispatch.spi.transport import Completed


class Cut(Here):
    """Loses the end of every answer."""

    def __init__(self, bin_: Path, cut: int) -> None:
        super().__init__(bin_)
        self.cut = cut

    async def run(self, *given: Any, **more: Any) -> Completed:
        done = await super().run(*given, **more)
        return Completed(returncode=0, stdout=done.stdout[: -self.cut], stderr=done.stderr)


class Noisy(Here):
    """Adds a banner to every answer."""

    async def run(self, *given: Any, **more: Any) -> Completed:
        done = await super().run(*given, **more)
        return Completed(
            returncode=0, stdout=b"Welcome\n" + done.stdout, stderr=b"noise" + done.stderr
        )


def leave_tickets(home: Path, **files: str) -> None:
    place = home / ".dispatch" / "runs" / JOB
    place.mkdir(parents=True)
    for name, content in files.items():
        (place / name.removeprefix("t").replace("_", ".")).write_text(content.replace(" ", "\n"))


def test_a_running_job_takes_one_call(slurm: Slurm) -> None:
    slurm.queue([as_ours(sample("26.05/nokill.queue")[0])])
    transport = Here(slurm.bin)
    found = only(read(slurm, transport=transport, known=(REF,)))
    assert (found.ref, found.key, found.state) == (REF, KEY, State.RUNNING)
    assert transport.calls == 1
    assert not [call for call in slurm.calls if call.startswith("sacct")]


def test_an_end_takes_a_second_call_that_asks_accounting(slurm: Slurm) -> None:
    slurm.queue([as_ours(sample("26.05/cancel-admin.queue")[0])])
    slurm.accounting([as_ours(sample("26.05/cancel-admin.accounting")[0])])
    transport = Here(slurm.bin)
    found = only(read(slurm, transport=transport, known=(REF,)))
    assert (found.cause, found.verdict.detail.by) == (Cause.CANCELLED, By.ADMINISTRATOR)
    assert transport.calls == 2


def test_a_job_of_which_no_object_is_known_takes_one_call_that_asks_accounting_too(
    slurm: Slurm,
) -> None:
    slurm.queue([as_ours(sample("26.05/cancel-admin.queue")[0])])
    slurm.accounting([as_ours(sample("26.05/cancel-admin.accounting")[0])])
    transport = Here(slurm.bin)
    found = only(read(slurm, transport=transport))
    assert (found.cause, found.verdict.detail.by) == (Cause.CANCELLED, By.ADMINISTRATOR)
    assert transport.calls == 1


def test_jobs_with_and_without_known_objects_are_read_together(slurm: Slurm) -> None:
    slurm.queue([as_ours(sample("26.05/nokill.queue")[0])])
    transport = Here(slurm.bin)
    assert only(read(slurm, JOB, OTHER, transport=transport, known=(REF,))).ref == REF
    assert transport.calls == 2
    asked = [call for call in slurm.calls if call.startswith("sacct")]
    assert len(asked) == 1
    assert OTHER in asked[0]
    assert JOB not in asked[0]


def test_the_clock_is_the_hosts_and_the_boot_the_controllers(slurm: Slurm) -> None:
    slurm.play("date", "echo 1796004502123")
    reading = read(slurm)
    assert (reading.sent.timestamp(), reading.boot) == (1796004502.123, "1000")


def test_a_clock_without_milliseconds_is_one_of_seconds(slurm: Slurm) -> None:
    slurm.play("date", "case $1 in +%s) echo 1796004502 ;; *) echo 1796004502%3N ;; esac")
    assert read(slurm).sent.timestamp() == 1796004502


def test_an_empty_answer_of_queue_and_accounting_shows_nothing(slurm: Slurm) -> None:
    slurm.accounting([])
    assert read(slurm).observations == ()


def test_a_cluster_without_accounting_is_no_error(slurm: Slurm) -> None:
    slurm.queue([as_ours(sample("26.05/cancel-user.queue")[0])])
    found = only(read(slurm))
    assert (found.cause, found.verdict.detail.by) == (Cause.CANCELLED, None)


def test_an_id_that_the_queue_does_not_know_is_asked_of_accounting(slurm: Slurm) -> None:
    slurm.play("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    slurm.accounting([as_ours(sample("26.05/timeout.accounting")[0])])
    found = only(read(slurm))
    assert (found.cause, found.final) == (Cause.TIMEOUT, True)


@pytest.mark.parametrize(
    ("command", "body", "words"),
    [
        ("squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1", "Unable to contact"),
        ("squeue", "echo 'Munge encode failed: Failed to access socket' >&2; exit 1", "Munge encode failed"),
        ("squeue", "exec sleep 30", "did not answer in time"),
        ("squeue", "exit 0", "not the document"),
        ("squeue", "echo '{\"jobs\": [], \"errors\": [{\"description\": \"lost the database\"}]}'", "lost the database"),
        ("squeue", "echo '{\"errors\": []}'", "without jobs"),
        ("squeue", "echo '{\"jobs\": [{\"job_state\": \"RUNNING\"}], \"errors\": []}'", "without an id"),
        ("squeue", "echo '{\"jobs\": [7], \"errors\": []}'", "shape"),
        ("scontrol", "echo 'Unable to contact slurm controller' >&2; exit 1", "Unable to contact"),
        ("scontrol", "exit 0", "scontrol show config"),
        ("scontrol", "exec sleep 30", "did not answer in time"),
        ("sacct", "echo 'sacct: error: slurmdbd: Connection refused' >&2; exit 1", "Connection refused"),
        ("sacct", "echo '{\"jobs\": [], \"errors\": [{\"error\": \"Unable to parse time format\"}]}'", "time format"),
        ("date", "exit 1", "squeue --version"),
    ],
)  # fmt: skip
def test_an_error_is_never_an_absence(slurm: Slurm, command: str, body: str, words: str) -> None:
    slurm.play(command, body)
    with pytest.raises(Unavailable, match=words):
        read(slurm)


def test_a_controller_that_is_away_is_asked_once(slurm: Slurm) -> None:
    slurm.play("scontrol", "echo 'Unable to contact slurm controller' >&2; exit 1")
    with pytest.raises(Unavailable, match="Unable to contact"):
        read(slurm)
    assert [call.split()[0] for call in slurm.calls] == ["squeue", "scontrol"]


def test_a_missing_command_is_named(slurm: Slurm, tmp_path: Path) -> None:
    (slurm.bin / "squeue").unlink()
    with pytest.raises(Unavailable, match="squeue"):
        read(slurm)


def test_a_controller_that_restarts_meanwhile_is_unavailable(slurm: Slurm) -> None:
    slurm.play("scontrol", f'echo x >>{slurm.bin}/n; echo "BOOT_TIME = $(wc -l <{slurm.bin}/n)"')
    with pytest.raises(Unavailable, match="restarted"):
        read(slurm)


def test_a_controller_that_restarts_during_the_one_call_is_unavailable(slurm: Slurm) -> None:
    slurm.queue([as_ours(sample("26.05/nokill.queue")[0])])
    slurm.play("scontrol", f'echo x >>{slurm.bin}/n; echo "BOOT_TIME = $(wc -l <{slurm.bin}/n)"')
    with pytest.raises(Unavailable, match="restarted"):
        read(slurm)


def test_a_controller_that_restarts_between_the_calls_is_unavailable(slurm: Slurm) -> None:
    body = f'echo x >>{slurm.bin}/n; [ $(wc -l <{slurm.bin}/n) -le 2 ] && n=1 || n=2; echo "BOOT_TIME = $n"'
    slurm.play("scontrol", body)
    with pytest.raises(Unavailable, match="restarted"):
        read(slurm, known=(REF,))


def test_what_a_user_sets_for_his_own_commands_has_no_effect(slurm: Slurm) -> None:
    slurm.queue([as_ours(sample("26.05/nokill.queue")[0])])
    own = {
        "SQUEUE_FORMAT": "%i", "SQUEUE_STATES": "PD", "SACCT_FORMAT": "jobid", "SLURM_CLUSTERS": "other",
        "SLURM_TIME_FORMAT": "relative", "SLURM_CONF": "/etc/slurm.conf", "SLURM_JWT": "token", "LC_ALL": "de_DE",
        "SCONTROL_ALL": "1", "INNOCENT": "a\nSLURM_X=1;touch${IFS}x",
    }  # fmt: skip
    assert only(read(slurm, transport=Here(slurm.bin, own))).state is State.RUNNING
    seen = slurm.environment
    for gone in ("SQUEUE_", "SACCT_", "SLURM_CLUSTERS", "relative", "SCONTROL_ALL", "de_DE"):
        assert gone not in seen
    for kept in ("SLURM_CONF=/etc/slurm.conf", "SLURM_JWT=token", "LC_ALL=C"):
        assert kept in seen


def test_a_banner_and_noise_on_stderr_change_nothing(slurm: Slurm) -> None:
    slurm.queue([as_ours(sample("26.05/nokill.queue")[0])])
    assert only(read(slurm, transport=Noisy(slurm.bin))).state is State.RUNNING


def test_an_answer_that_is_cut_is_unavailable_at_every_place(slurm: Slurm) -> None:
    slurm.queue([as_ours(sample("26.05/nokill.queue")[0])])
    for cut in range(3, 400, 29):
        with pytest.raises(Unavailable):
            read(slurm, transport=Cut(slurm.bin, cut))


def test_a_comment_that_imitates_the_frame_ends_nothing(slurm: Slurm) -> None:
    evil = "\n0123 end 0\n0123 begin boot\n9\n0123 end 0\n"
    slurm.queue([as_ours(sample("26.05/nokill.queue")[0], admin_comment=evil, extra=evil)])
    assert only(read(slurm)).state is State.RUNNING


def test_an_object_with_our_name_but_not_our_marks_is_shown_as_nobodys(slurm: Slurm) -> None:
    """It may be ours with its comment changed, so it must count as live (12, O1); it is none of any store's."""
    theirs = as_ours(sample("26.05/nokill.queue")[0], comment="mine")
    slurm.queue([theirs])
    slurm.accounting([])
    seen = only(read(slurm))
    assert (seen.key.store, seen.key.submission, seen.state) == ("unreadable", 0, State.RUNNING)


def test_an_object_of_another_job_is_not_of_this_reading(slurm: Slurm) -> None:
    slurm.queue([as_ours(sample("26.05/nokill.queue")[0], name=f"dj-{OTHER}")])
    slurm.accounting([])
    assert read(slurm).observations == ()


def test_an_object_of_another_store_is_shown_with_its_store(slurm: Slurm) -> None:
    slurm.queue(
        [
            as_ours(
                sample("26.05/nokill.queue")[0], comment=COMMENT.replace("store=01J", "store=02J")
            )
        ]
    )
    assert only(read(slurm)).key.store.startswith("02J")


def test_the_marks_are_found_in_accountings_submit_line(slurm: Slurm) -> None:
    job = as_ours(
        sample("26.05/timeout.accounting")[0],
        comment={"job": ""},
        submit_line=f"sbatch --comment={COMMENT} x",
    )
    slurm.accounting([job])
    assert only(read(slurm)).ref == REF


def test_tickets_are_read_from_the_shared_directory(slurm: Slurm, home: Path) -> None:
    failed = as_ours(sample("26.05/exit3.queue")[0])
    slurm.queue([failed])
    assert only(read(slurm)).cause is Cause.UNKNOWN
    leave_tickets(home, t1000000_start=STARTED, t1000000_end="status=3 signal= ended=9 attempt=a1")
    assert only(read(slurm)).cause is Cause.NON_ZERO_EXIT


def test_a_strange_file_among_the_tickets_hurts_nobody(slurm: Slurm, home: Path) -> None:
    slurm.queue([as_ours(sample("26.05/exit3.queue")[0])])
    leave_tickets(home, t1000000_start=STARTED, t1000000_end="status=3 signal= ended=9 attempt=a1")
    place = home / ".dispatch" / "runs" / JOB
    for name in ("a b.start", "'.end", "-x.end", "1000001.end", "1000002.start"):
        (place / name).write_bytes(os.urandom(100))
    (place / "1000003.start").symlink_to("/dev/zero")
    (place / "1000004.end").mkdir()
    (place / "1000005.end").write_bytes(b"x" * 10_000_000)
    assert only(read(slurm)).cause is Cause.NON_ZERO_EXIT


def test_an_object_of_which_only_tickets_are_left_is_seen_if_they_say_whose_it_is(
    slurm: Slurm, home: Path
) -> None:
    whose = f"{STARTED} store={KEY.store} base={BASE}"
    leave_tickets(home, t1000000_start=whose, t1000000_end="status=0 signal= ended=9 attempt=a1")
    found = only(read(slurm))
    assert (found.ref, found.key, found.state) == (REF, KEY, State.SUCCEEDED)


@pytest.mark.parametrize("end", ["status=143 signal=TERM", "status=0 signal="])
def test_an_end_that_slurm_told_the_script_has_no_cause_where_only_tickets_are_left(
    slurm: Slurm, home: Path, end: str
) -> None:
    """A preemption that nobody watched is no fault of the program, and saving its work is no success."""
    whose = f"{STARTED} store={KEY.store} base={BASE}"
    leave_tickets(home, t1000000_start=whose, t1000000_end=f"{end} told=TERM ended=9 attempt=a1")
    found = only(read(slurm))
    assert (found.state, found.cause, found.verdict.proven) == (State.FAILED, Cause.UNKNOWN, False)
    assert found.final


def test_a_start_that_was_there_before_the_queue_was_read_shows_the_forgetting(
    slurm: Slurm, home: Path
) -> None:
    slurm.queue([as_ours(sample("26.05/pending.queue")[0], state_reason="None", hold=False)])
    leave_tickets(home, t1000000_start=STARTED)
    assert only(read(slurm)).cause is Cause.FORGOTTEN


def written_during(slurm: Slurm, home: Path, name: str, content: str) -> None:
    """Let a ticket be written while squeue answers."""
    place = home / ".dispatch" / "runs" / JOB
    lines = content.replace(" ", "\\n")
    slurm.play(
        "squeue",
        f"cat {slurm.bin}/squeue.out; mkdir -p {place}; printf '{lines}\\n' >{place}/{name}",
    )


def test_a_start_that_is_written_while_the_queue_is_read_shows_no_forgetting(
    slurm: Slurm, home: Path
) -> None:
    slurm.queue([as_ours(sample("26.05/pending.queue")[0], state_reason="None", hold=False)])
    written_during(slurm, home, "1000000.start", STARTED)
    assert only(read(slurm)).cause is None


def test_an_end_that_is_written_while_the_queue_is_read_proves_the_exit(
    slurm: Slurm, home: Path
) -> None:
    slurm.queue([as_ours(sample("26.05/exit3.queue")[0])])
    end = "status=3 signal= ended=9 attempt=a1"
    written_during(slurm, home, "1000000.end", end)
    slurm.play("sacct", f"rm -f {home}/.dispatch/runs/{JOB}/*; {DISABLED}")
    assert only(read(slurm)).cause is Cause.NON_ZERO_EXIT


def test_ended_jobs_are_asked_for_and_only_our_own(slurm: Slurm) -> None:
    slurm.accounting([])
    read(slurm)
    for call in slurm.calls:
        assert "--states=all --me --name=dj-" in call or not call.startswith("squeue --json")
        assert "-D" in call or not call.startswith("sacct")


def test_many_names_are_asked_in_chunks(slurm: Slurm) -> None:
    jobs = [f"01JZZZZZZZZZZZZZZZZZZZ{number:04d}" for number in range(450)]
    slurm.play("squeue", 'echo \'{"jobs": [], "errors": []}\'')
    assert read(slurm, *jobs).observations == ()
    asked = [call for call in slurm.calls if call.startswith("squeue --json")]
    assert {call.count("dj-") for call in asked} == {200, 50}
    assert sum(call.count("dj-") for call in asked) == 450


def test_what_is_no_job_id_reaches_no_shell(slurm: Slurm) -> None:
    with pytest.raises(Invalid):
        read(slurm, "$(touch x)")


def test_accounting_is_asked_from_a_day_before_the_oldest_job_on(slurm: Slurm) -> None:
    young = ulid(1_796_000_000_000, bytes(10))
    assert oldest([young, ulid(1_795_000_000_123, bytes(10))]) == 1_795_000_000
    slurm.accounting([])
    read(slurm, young)
    assert [call for call in slurm.calls if f"-S uts{1_796_000_000 - 86_400} " in call]
