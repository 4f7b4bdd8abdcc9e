"""Many seeds are run, the first that breaks a rule is found, replayed and made small."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from typing import Any

import pytest

from cli.bench import run as command
from dispatch.cli.exits import Exit
from dispatch.core import ending
from dispatch.model.journal import Ceased, Proof
from dispatch.model.status import Listing
from dispatch.model.view import JobView, ObjectView
from dispatch.sim import Options, as_test, hunt, run, shrink
from dispatch.sim.hunting import kind_of
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


def test_a_fault_of_the_program_is_found_and_made_small() -> None:
    tally = hunt(range(FOUND_BY), workers=1, mutant=every_node_is_taken_for_cleaned)
    assert tally.broken is not None
    seed, violation = tally.broken.seed, tally.broken.violation
    assert violation is not None
    shrunk = shrink(seed, Options(), every_node_is_taken_for_cleaned)
    assert shrunk is not None
    assert len(shrunk.outcome.faults) <= 6 < len(tally.broken.faults)
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
