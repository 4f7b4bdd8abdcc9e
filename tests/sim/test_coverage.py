"""Every row of the table, move of an object and case of the fold is reached by the simulator, or it is said why not."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from cli.bench import run as command
from dispatch.cli.exits import Exit
from dispatch.sim.coverage import all_names, missed
from dispatch.sim.options import reached_by
from dispatch.sim.unreached import UNREACHED
from sim.sharing import read_share


@pytest.fixture(scope="module")
def reached() -> Counter[str]:
    """How often each name is reached by the share of seeds."""
    counts = Counter[str]()
    for one in read_share():
        outcome = one.run()
        assert outcome.violation is None, f"{one}: {outcome.violation}"
        counts.update(reached_by(outcome))
    return counts


ANEW = "choose the share of seeds anew (tests/sim/sharing.py)"


@pytest.mark.timeout(300)
def test_a_share_of_seeds_reaches_all_that_is_not_said_to_be_out_of_reach(
    reached: Counter[str],
) -> None:
    assert missed(reached) == [], f"{ANEW}; what no seed reaches belongs into sim/unreached.py"


@pytest.mark.timeout(300)
def test_what_is_said_to_be_out_of_reach_is_not_reached(reached: Counter[str]) -> None:
    assert sorted(reached.keys() & UNREACHED.keys()) == []


@pytest.mark.timeout(300)
def test_nothing_is_reached_that_has_no_name(reached: Counter[str]) -> None:
    assert reached.keys() <= all_names()


def test_only_what_has_a_name_is_said_to_be_out_of_reach_each_with_a_reason() -> None:
    assert UNREACHED.keys() <= all_names()
    assert all(len(reason) > 20 for reason in UNREACHED.values())


def test_the_command_tells_what_no_seed_reaches_apart_from_what_these_have_not() -> None:
    words = ("dev", "sim", "--seeds", "2", "--workers", "1", "--coverage")
    said = command(*words)
    assert said.code == Exit.OK
    left, _, never = said.out.partition("not reached in these seeds: ")[2].partition(
        "REACHED BY NO SEED"
    )
    assert "adopt" in left
    assert "stale listing" not in left
    assert "stale listing" in never
    told = json.loads(command(*words, "--json").out)
    assert "adopt" in told["missed"]
    assert told["unreached"] == UNREACHED
