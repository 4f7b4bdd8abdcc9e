"""Histories: what sacct printed, what our own records tell, and what is none of it."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from core.builders import ended, entry, header, opened, queued, read, running, succeeded
from dispatch.cli.render import history_document
from dispatch.model.answers import Action
from dispatch.model.errors import DispatchError, Invalid, NotFound
from dispatch.model.journal import AnyEvent, Decided, Ended
from dispatch.model.status import Cause, Observation
from dispatch.whatif.conditions import Program
from dispatch.whatif.history.past import Past, queue_wait_of, sources_of
from dispatch.whatif.history.reading import read_history
from dispatch.whatif.measures import figure
from dispatch.whatif.simulating import simulate
from dispatch.whatif.tally import ratio
from dispatch.whatif.weather import Gap
from docs.blocks import ROOT
from whatif.makers import DAY, HOUR, conditions, fixed, job, once_in, span

HEADS = "JobID|State|Submit|Start|End|NNodes|ExitCode"
ROWS = """\
100|NODE_FAIL|2026-01-01T00:00:00|2026-01-01T00:10:00|2026-01-01T05:10:00|4|0:0
100.batch|FAILED||2026-01-01T00:10:00|2026-01-01T05:10:00|1|0:0
102|PREEMPTED|2026-01-01T06:00:00|2026-01-01T06:20:00|2026-01-01T07:20:00|4|0:15
103|FAILED|2026-01-01T08:00:00|2026-01-01T08:00:00|2026-01-01T10:00:00|2|75:0
104|FAILED|2026-01-01T11:00:00|2026-01-01T11:00:00|2026-01-01T12:00:00|2|0:9
105|CANCELLED by 1000|2026-01-01T13:00:00|2026-01-01T13:00:00|2026-01-01T14:00:00|2|0:0
106|COMPLETED|2026-01-01T15:00:00|2026-01-01T15:00:00|2026-01-01T16:00:00|2|0:0
107|RUNNING|2026-01-01T17:00:00|2026-01-01T17:00:00|Unknown|2|0:0
108|CANCELLED|2026-01-01T17:00:00|None|2026-01-01T17:00:00|2|0:0
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "history"


def table(place: Path, rows: str = ROWS, heads: str = HEADS) -> Path:
    place.write_text(f"{heads}\n{rows}")
    return place


def faults(place: Path) -> list[str]:
    with pytest.raises(Invalid) as caught:
        read_history(place)
    return [fault.path for fault in caught.value.faults]


def test_a_table_of_sacct_tells_how_long_each_ran_and_what_ended_it(place: Path) -> None:
    found = read_history(table(place)).executions
    assert [(past.cause, past.ran // HOUR, past.nodes) for past in found] == [
        (Cause.NODE_LOST, 5, 4), (Cause.PREEMPTED, 1, 4), (Cause.NON_ZERO_EXIT, 2, 2), (Cause.SIGNALLED, 1, 2),
        (Cause.CANCELLED, 1, 2), (None, 1, 2),
    ]  # fmt: skip
    assert [past.queued for past in found[:2]] == [600_000, 1_200_000]
    assert (found[2].exit_code, found[3].signal) == (75, "KILL")


def test_what_never_ran_or_still_runs_is_left_out_and_said_so(place: Path) -> None:
    assert read_history(table(place)).notes == (
        "2 that never started or have not ended are left out",
    )


def test_what_ended_before_it_started_is_left_out(place: Path) -> None:
    row = "9|FAILED|Unknown|2026-01-01T02:00:00|2026-01-01T01:00:00|1|1:0\n"
    read = read_history(table(place, ROWS + row))
    assert len(read.executions) == 6
    assert read.notes == ("3 that never started or have not ended are left out",)


@pytest.mark.parametrize(
    ("code", "cause", "signal"),
    [
        ("0:0", Cause.UNKNOWN, None),
        ("0:70", Cause.SIGNALLED, "70"),
        ("2:0", Cause.NON_ZERO_EXIT, None),
    ],
)
def test_a_failure_is_told_by_its_exit_code_and_without_one_is_unknown(
    place: Path, code: str, cause: Cause, signal: str | None
) -> None:
    row = f"9|FAILED|Unknown|2026-01-01T02:00:00|2026-01-01T03:00:00|1|{code}\n"
    (past,) = read_history(table(place, row)).executions
    assert (past.cause, past.signal) == (cause, signal)


def test_columns_may_stand_in_any_order_and_lines_end_in_a_bar(place: Path) -> None:
    heads = "State|AllocNodes|End|Start|"
    table(place, "NODE_FAIL|3|2026-01-01T02:00:00|2026-01-01T00:00:00|\n\n", heads)
    assert read_history(place).executions[0][1:4] == (2 * HOUR, 3, Cause.NODE_LOST)


def test_a_state_that_no_slurm_prints_is_left_out_and_said_so(place: Path) -> None:
    read = read_history(table(place, ROWS + "9|MELTED|Unknown|Unknown|Unknown|1|0:0\n"))
    assert "1 with the state 'MELTED' are left out" in read.notes[0]


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ("1|FAILED|x|2026-01-01T00:00:00|2026-01-01T00:00:00|1|0:0", "Submit"),
        ("1|FAILED|Unknown|2026-13-01T00:00:00|2026-01-01T00:00:00|1|0:0", "Start"),
        ("1|FAILED|Unknown|2026-01-01T00:00:00|yesterday|1|0:0", "End"),
        ("1|FAILED|Unknown|2026-01-01T00:00:00|2026-01-01T00:00:00|-1|0:0", "NNodes"),
        ("1|FAILED|Unknown|2026-01-01T00:00:00|2026-01-01T00:00:00|999999|0:0", "NNodes"),
        ("1|FAILED|Unknown|2026-01-01T00:00:00|2026-01-01T00:00:00|١|0:0", "NNodes"),
        ("1|FAILED|Unknown|2026-01-01T00:00:00|2026-01-01T00:00:00|1|one", "ExitCode"),
        ("1|FAILED|Unknown|2026-01-01T00:00:00|2026-01-01T00:00:00|1|256:0", "ExitCode"),
        ("1|FAILED", "line 2"),
    ],
)
def test_a_row_that_is_wrong_is_named(place: Path, row: str, path: str) -> None:
    assert faults(table(place, row)) == [path]


def test_a_table_without_its_headings_says_how_to_print_it(place: Path) -> None:
    with pytest.raises(Invalid, match=r"no column State, Start, End, NNodes.* Print it with"):
        read_history(table(place, heads="100|NODE_FAIL"))


def sacct(place: Path, *jobs: Any) -> Path:
    place.write_text(json.dumps({"meta": {}, "jobs": jobs}))
    return place


def one_job(**changes: Any) -> dict[str, Any]:
    return {
        "job_id": 1,
        "state": {"current": ["NODE_FAIL"], "reason": "None"},
        "time": {"submission": 1000, "start": 1600, "end": 5200, "elapsed": 3600},
        "allocation_nodes": 4,
        "exit_code": {"status": ["SUCCESS"], "return_code": {"set": True, "infinite": False, "number": 0}},
        **changes,
    }  # fmt: skip


@pytest.mark.parametrize(
    "state", ["NODE_FAIL", {"current": "NODE_FAIL"}, {"current": ["NODE_FAIL"]}]
)
def test_json_of_sacct_is_read_as_old_and_new_releases_print_it(place: Path, state: object) -> None:
    found = read_history(sacct(place, one_job(state=state))).executions
    assert found == (Past(1_600_000, HOUR, 4, Cause.NODE_LOST, queued=600_000),)


def test_exit_codes_are_numbers_or_wrapped_ones(place: Path) -> None:
    wrapped = {
        "return_code": {"set": True, "infinite": False, "number": 3},
        "signal": {"id": {"set": False, "number": 7}},
    }
    for code in (wrapped, {"return_code": 3}):
        found = read_history(sacct(place, one_job(state="FAILED", exit_code=code))).executions
        assert (found[0].cause, found[0].exit_code) == (Cause.NON_ZERO_EXIT, 3)


def test_a_signal_is_told_as_old_and_new_releases_print_it(place: Path) -> None:
    old = {
        "status": "SIGNALED",
        "return_code": None,
        "signal": {"signal_id": 11, "name": "Segmentation fault"},
    }
    new = {
        "return_code": {"set": False, "number": 0},
        "signal": {"id": {"set": True, "number": 11}, "name": "SEGV"},
    }
    for code in (old, new):
        found = read_history(sacct(place, one_job(state="FAILED", exit_code=code))).executions
        assert (found[0].cause, found[0].signal) == (Cause.SIGNALLED, "SEGV")


SAMPLES = sorted((ROOT / "tests/adapters/slurm/samples").glob("*/*.accounting.json"))
NEVER_RAN = {"deadline", "depnever", "nokill", "pending", "prologfail-requeued-held"}
"""Samples of jobs that never started, or have not ended."""


def is_of_a_run(sample: Path) -> bool:
    return sample.name.removesuffix(".accounting.json") not in NEVER_RAN


@pytest.mark.parametrize(
    "sample", [one for one in SAMPLES if is_of_a_run(one)], ids=lambda path: path.name
)
def test_what_a_real_sacct_printed_is_read(sample: Path) -> None:
    assert read_history(sample).executions


@pytest.mark.parametrize("name", sorted(NEVER_RAN))
def test_what_a_real_sacct_printed_of_jobs_that_never_ran_is_told_so(name: str) -> None:
    [sample] = [one for one in SAMPLES if one.name == f"{name}.accounting.json"]
    with pytest.raises(Invalid, match="that never started or have not ended are left out"):
        read_history(sample)


def test_many_kinds_of_a_real_release_are_told_apart() -> None:
    [sample] = [path for path in SAMPLES if path.parent.name == "24.11"]
    causes = Counter(past.cause for past in read_history(sample).executions)
    assert causes == {Cause.NON_ZERO_EXIT: 2, Cause.SIGNALLED: 2, Cause.CANCELLED: 2, None: 1}


def test_thousands_of_nodes_are_read_as_sacct_shortens_them(place: Path) -> None:
    row = "1|NODE_FAIL|Unknown|2026-01-01T00:00:00|2026-01-01T02:00:00|{}|0:0"
    assert read_history(table(place, row.format("2K"))).executions[0].nodes == 2048
    assert faults(table(place, row.format("2M"))) == ["NNodes"]
    assert faults(table(place, row.format("999999K"))) == ["NNodes"]


def test_jobs_that_never_waited_make_a_queue_without_a_wait(place: Path) -> None:
    row = "1|NODE_FAIL|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T02:00:00|1|0:0"
    assert queue_wait_of(read_history(table(place, row)).executions) == fixed("0s")


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"state": None}, "jobs[0].state"),
        ({"state": {"current": [1]}}, "jobs[0].state"),
        ({"time": []}, "jobs[0].time.submission"),
        ({"time": {"submission": 1, "start": True, "end": 2}}, "jobs[0].time.start"),
        ({"time": {"submission": 1, "start": 1, "end": -5}}, "jobs[0].time.end"),
        ({"time": {"submission": 1, "start": 1, "end": 10**30}}, "jobs[0].time.end"),
        ({"time": {"submission": 1.5, "start": 1, "end": 2}}, "jobs[0].time.submission"),
        ({"allocation_nodes": "4"}, "jobs[0].allocation_nodes"),
        ({"allocation_nodes": 10**9}, "jobs[0].allocation_nodes"),
        ({"exit_code": {"return_code": -1}}, "jobs[0].exit_code"),
        ({"exit_code": {"return_code": 256}}, "jobs[0].exit_code"),
    ],
)
def test_a_job_of_json_that_is_wrong_is_named(
    place: Path, changes: dict[str, Any], path: str
) -> None:
    assert faults(sacct(place, one_job(**changes))) == [path]


def test_jobs_that_are_none_are_named(place: Path) -> None:
    assert faults(sacct(place, 7)) == ["jobs[0]"]
    place.write_text('{"jobs": 7}')
    assert faults(place) == ["jobs"]


def test_many_faults_are_told_by_their_first(place: Path) -> None:
    assert len(faults(sacct(place, *[7] * 1000))) == 20


# --- files that are no history


@pytest.mark.parametrize(
    "content",
    [
        b"", b"  \n", b"\xff\xfe\x00", b"{", b"[" * 100_000, b"[]", b"{}", b'{"history": 1}', b'{"history": []}',
        b'{"history": [{"version": 1}]}', b'{"history": [3]}', b'{"jobs": []}', b'{"jobs": {}}', b"NaN", b"\x00" * 40,
        b"a|b\n1|2", b"SQLite format 3\x00" + b"\xff" * 200, b'{"a": 1}\n{"b": ', b'{"history": [{"version": 2}]}\n{}',
    ],
)  # fmt: skip
def test_a_file_that_is_no_history_is_refused_in_words(place: Path, content: bytes) -> None:
    place.write_bytes(content)
    with pytest.raises(DispatchError):
        read_history(place)


def test_what_is_no_file_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_history(tmp_path / "missing")
    with pytest.raises(DispatchError):
        read_history(tmp_path)
    with pytest.raises(Invalid, match="no regular file"):
        read_history(Path("/dev/null"))


@given(st.text(max_size=200) | st.text(alphabet="|:0123456789-T\n JobIDStaeEnNs", max_size=200))
@settings(max_examples=150)
def test_whatever_stands_below_the_headings_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, rows: str
) -> None:
    place = tmp_path_factory.getbasetemp() / "drawn"
    place.write_text(f"{HEADS}\n{rows}", encoding="utf-8", errors="replace")
    with suppress(DispatchError):
        assert read_history(place).executions


# --- our own records


def shown(place: Path, *records: tuple[AnyEvent, ...]) -> Path:
    """What ``dispatch show --json`` prints of these records, each after its header and an open."""
    place.write_text("\n".join(map(document_of, records)))
    return place


def document_of(events: tuple[AnyEvent, ...]) -> str:
    entries = [
        entry(number, event) for number, event in enumerate((header(), *opened(), *events), 1)
    ]
    return json.dumps({"schemaVersion": 1, "history": history_document(entries)})


def decided(seen: Observation) -> Decided:
    return Decided(submission=1, restarts=0, verdict=seen.verdict, action=Action.FAIL)


def test_our_own_records_tell_what_ended_each_execution(place: Path) -> None:
    lost = ended(1, Cause.NODE_LOST, ran_for=3600)
    well = succeeded(1, ran_for=7200)
    found = read_history(
        shown(place, (read(lost), decided(lost)), (read(well), Ended(verdict=well.verdict)))
    )
    assert {(one.cause, one.ran // HOUR, one.nodes) for one in found.executions} == {
        (Cause.NODE_LOST, 1, 2),
        (None, 2, 2),
    }
    assert not found.notes


def test_executions_of_our_own_records_that_have_not_ended_are_left_out(place: Path) -> None:
    lost = ended(1, Cause.NODE_LOST, ran_for=3600)
    found = read_history(
        shown(place, (read(lost), decided(lost)), (read(running()),), (read(queued()),))
    )
    assert len(found.executions) == 1
    assert found.notes == ("2 that never ran or have not ended are left out",)


def test_a_record_that_is_cut_in_two_is_refused(place: Path) -> None:
    document = json.loads(document_of((read(running()),)))
    del document["history"][2]
    place.write_text(json.dumps(document))
    with pytest.raises(Invalid, match="no whole record"):
        read_history(place)


# --- what it makes of them


def past(hours: int, cause: Cause | None = None, nodes: int = 4, **fields: Any) -> Past:
    return Past(started=0, ran=hours * HOUR, nodes=nodes, cause=cause, **fields)


def test_the_time_between_two_failures_is_that_of_running_over_all_executions() -> None:
    (source,) = sources_of([past(2), past(1, Cause.PREEMPTED), past(4, Cause.PREEMPTED), past(3)])
    assert source.gaps == (Gap(ms=3 * HOUR), Gap(ms=4 * HOUR), Gap(ms=3 * HOUR, happened=False))
    assert source.mean_ms == 5 * HOUR


def test_nodes_are_lost_by_the_time_of_nodes() -> None:
    (source,) = sources_of([past(2, nodes=10), past(1, Cause.NODE_LOST, nodes=4)])
    assert source.per_node
    assert source.gaps == (Gap(ms=24 * HOUR),)


def test_each_exit_code_is_a_kind_of_its_own() -> None:
    found = sources_of([past(1, Cause.NON_ZERO_EXIT, exit_code=code) for code in (1, 75, 1)])
    assert [(one.detail.exit_code, len(one.gaps)) for one in found] == [(1, 2), (75, 2)]


def test_what_people_and_limits_ended_is_time_in_which_nothing_failed() -> None:
    found = sources_of([past(5, Cause.TIMEOUT), past(5, Cause.CANCELLED), past(1, Cause.PREEMPTED)])
    assert [one.gaps for one in found] == [(Gap(ms=11 * HOUR),)]


def test_the_wait_in_the_queue_is_random_around_the_recorded_mean() -> None:
    wait = queue_wait_of([past(1, queued=1000), past(1, queued=3000), past(1)])
    assert str(wait) == "exp:2s"
    assert queue_wait_of([past(1)]) is None


def test_the_history_of_a_simulation_simulates_as_it_did() -> None:
    """From random failures to a history, and from the history to failures drawn from it: the same share is useful."""
    program = Program(
        checkpoint_every=span("1h"), checkpoint_cost=span("2m"), restart_cost=span("5m")
    )
    random = (once_in("7h"), once_in("4d", Cause.NODE_LOST, per_node=True))
    ours = conditions(*random, program=program, horizon=span("40d"), repair=fixed("30m"))
    first = simulate(job(), ours, range(6))
    ended = [
        Past(
            one.started, one.ended - one.started, one.nodes, Cause(one.cause) if one.cause else None
        )
        for run in first
        for one in run.executions
    ]
    again = simulate(job(), replace(ours, sources=sources_of(ended)), range(6))
    means = [figure(ratio(run, 40 * DAY) for run in runs).mean for runs in (first, again)]
    assert means[1] == pytest.approx(means[0], abs=0.02)
