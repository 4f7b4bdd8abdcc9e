"""Many seeds are run, the first that breaks a rule is found, replayed and made small."""

from __future__ import annotations

import json
import multiprocessing
import shlex
import signal
from contextlib import AbstractContextManager
from typing import Any

import pytest

from cli.bench import run as command
from dispatch.cli.exits import Exit
from dispatch.core import ending
from dispatch.model.journal import Ceased, Proof
from dispatch.model.status import Listing
from dispatch.model.view import JobView, ObjectView
from dispatch.sim import Mutant, Options, Outcome, Tally, as_test, hunt, hunting, run, shrink
from dispatch.sim.hunting import CHUNK, kind_of
from dispatch.sim.shrinking import sizes
from sim.reverting import put

FOUND_BY = 100
"""Seeds among which the mutant below is found."""


def every_node_is_taken_for_cleaned() -> AbstractContextManager[None]:
    def hasty(view: JobView, known: ObjectView, listing: Listing) -> Ceased:
        assert view.version <= listing.version
        return Ceased(submission=known.submission, proof=Proof.CLEANED)

    return put(ending, "cease", hasty)


def test_a_hunt_counts_what_it_has_seen_and_finds_nothing_in_a_sound_program() -> None:
    tally = hunt(range(24), workers=2)
    assert tally.seeds == 24
    assert tally.broken is None
    assert tally.rows["judge"] > 24
    assert sum(tally.ends.values()) >= 24 * Options().jobs * 0.9


def test_what_is_found_and_counted_does_not_depend_on_how_many_processes_work() -> None:
    alone, together = (
        hunt(range(FOUND_BY), workers=workers, mutant=every_node_is_taken_for_cleaned)
        for workers in (1, 3)
    )
    assert alone.broken is not None
    assert alone == together


def test_an_interrupted_hunt_leaves_no_process_behind() -> None:
    def interrupt(_: Tally) -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        hunt(range(100_000), workers=2, on_progress=interrupt)
    assert not multiprocessing.active_children()


def test_the_command_tells_at_ctrl_c_what_was_done_until_then() -> None:
    def interrupted(seed: int, options: Options, mutant: Mutant) -> Outcome:
        if seed == CHUNK + 2:
            signal.raise_signal(signal.SIGINT)
        return run(seed, options, mutant)

    with put(hunting, "run", interrupted):
        said = command("dev", "sim", "--workers", "1", "--json")
    assert said.code == Exit.INTERRUPTED
    told = json.loads(said.out)
    assert (told["seeds"], told["interrupted"], told["violation"]) == (CHUNK, True, None)
    assert f"after {CHUNK} of 1000 seeds" in said.err


def test_a_fault_of_the_program_is_found_and_made_small() -> None:
    tally = hunt(range(FOUND_BY), workers=1, mutant=every_node_is_taken_for_cleaned)
    assert tally.broken is not None
    seed, violation = tally.broken.seed, tally.broken.violation
    assert violation is not None
    shrunk = shrink(seed, Options(), every_node_is_taken_for_cleaned)
    assert shrunk is not None
    assert len(shrunk.outcome.faults) <= 6 < len(tally.broken.faults)
    before, after = sizes(shrunk.whole), sizes(shrunk.outcome)
    assert all(after[name] <= before[name] for name in before)
    assert before["steps"] == violation.step > after["steps"]
    assert f"{before['steps']} steps to {after['steps']}" in str(shrunk)
    assert shrunk.outcome.violation is not None
    assert shrunk.outcome.violation.rule == violation.rule
    again = run(seed, shrunk.options, every_node_is_taken_for_cleaned)
    assert again.violation == shrunk.outcome.violation
    assert run(seed, shrunk.options).violation is None
    made: dict[str, Any] = {}
    exec(as_test(shrunk), made)  # noqa: S102 - the text is to be run as it is
    made[f"test_seed_{seed}_breaks_no_rule"]()
    assert f"run({seed}, options)" in as_test(shrunk)


def test_a_seed_that_breaks_nothing_cannot_be_made_small() -> None:
    assert shrink(1, Options(faults=False)) is None


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("j1 open #2: lands late", "lands late"),
        ("j1 2.0 is preempted", "is preempted"),
        ("s1.2 dies", "dies"),
        ("j1-3 dies", "dies"),
        ("act 3: a node is lost", "a node is lost"),
        ("another cluster has the alias", "another cluster has the alias"),
        ("after j1 open #2: the power fails", "just after: the power fails"),
    ],
)
def test_a_fault_is_counted_by_its_kind(fault: str, kind: str) -> None:
    assert kind_of(fault) == kind


def test_the_command_hunts_and_answers_in_json() -> None:
    said = command("dev", "sim", "--seeds", "4", "--workers", "1", "--coverage", "--json")
    assert said.code == Exit.OK
    told = json.loads(said.out)
    assert told["seeds"] == 4
    assert told["violation"] is None
    assert "judge" in told["rows"]


def test_the_command_replays_a_seed_up_to_a_step() -> None:
    said = command("dev", "sim", "--seed", "3", "--stop-at", "30")
    assert said.code == Exit.OK
    assert "no rule is broken" in said.out
    assert len([line for line in said.out.splitlines() if line[:5].strip().isdigit()]) == 30


def test_the_command_gives_the_code_1_and_a_line_that_replays_what_breaks_a_rule() -> None:
    with every_node_is_taken_for_cleaned():
        said = command("dev", "sim", "--seeds", str(FOUND_BY), "--workers", "1")
    assert said.code == Exit.ENDED_OTHERWISE
    line = said.out.splitlines()[-1]
    assert line.startswith("dispatch dev sim --seed ")
    with every_node_is_taken_for_cleaned():
        assert command(*line.split()[1:]).code == Exit.ENDED_OTHERWISE
        small = command(*line.split()[1:], "--shrink")
    assert "def test_seed_" in small.out


def test_the_line_of_a_case_that_was_made_small_replays_it() -> None:
    with every_node_is_taken_for_cleaned():
        said = command("dev", "sim", "--seed", "17", "--shrink", "--json")
        told = json.loads(said.out)["shrunk"]
        assert told["small"]["steps"] < told["whole"]["steps"]
        again = command(*shlex.split(told["replay"])[1:], "--json")
    assert json.loads(again.out)["violation"]["step"] == told["step"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--stop-at", "5"), "--stop-at goes with --seed"),
        (("--seed", "1", "--seeds", "5"), "--seeds goes with"),
        (("--seed", "1", "--mutants"), "exclude one another"),
        (("--pairs", "2"), "--pairs goes with --enumerate"),
        (("--seed", "1", "--without-job", "j4"), "no job 'j4'"),
    ],
)
def test_the_command_refuses_what_it_would_pass_over(options: tuple[str, ...], said: str) -> None:
    refused = command("dev", "sim", *options)
    assert refused.code == Exit.USAGE
    assert said in refused.err


def test_a_fault_that_was_asked_for_and_does_not_happen_is_named() -> None:
    said = command("dev", "sim", "--seed", "3", "--only", "the moon falls")
    assert "did not happen: the moon falls" in said.out


def test_the_command_strikes_at_every_step_of_a_scenario() -> None:
    said = command("dev", "sim", "--enumerate", "a job is stopped while it starts")
    assert said.code == Exit.OK
    assert said.out.splitlines()[-1].endswith(" cases, 0 of them break a rule")
    told = command("dev", "sim", "--enumerate", "a job is stopped while it starts", "--json")
    assert json.loads(told.out)["violations"] == []


def test_the_command_names_the_scenarios_where_one_is_not_known() -> None:
    said = command("dev", "sim", "--enumerate", "a job flies")
    assert said.code == Exit.USAGE
    assert "a job succeeds" in said.err
