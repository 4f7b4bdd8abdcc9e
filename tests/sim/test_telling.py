"""A run can be read by a person: its trace, the records at its end, and the ground truth."""

from __future__ import annotations

import re

import pytest

from dispatch.adapters.memory import ShapeName
from dispatch.sim import Options, run

CODE = re.compile(r"datetime\.|<[A-Z]\w+\.|\w+=\w|Struct|object at 0x")
"""What only a programmer writes."""


@pytest.mark.parametrize("shape", list(ShapeName), ids=str)
@pytest.mark.parametrize("seed", [3, 11, 26])
def test_nothing_in_a_trace_or_a_dump_is_in_the_words_of_a_program(
    seed: int, shape: ShapeName
) -> None:
    outcome = run(seed, Options(shape=shape, trace=True))
    lines = [*map(str, outcome.trace), *outcome.dump.splitlines()]
    assert len(lines) > 100
    assert [line for line in lines if CODE.search(line)] == []
    assert max(map(len, lines)) < 400


def test_a_trace_tells_each_event_and_when_it_was() -> None:
    outcome = run(1, Options(faults=False, jobs=1, supervisors=1, trace=True))
    told = [line.what for line in outcome.trace if line.who == "j1"]
    kinds = [what.split(" ")[1] for what in told]
    assert kinds[:3] == ["Accepted", "Intended", "Settled"]
    assert re.fullmatch(
        r"2 Intended start 1 id \w+ deadline \d+\.\d{3} boot boot-1 attempt \w+ base \d+", told[1]
    )
    assert any(
        re.match(r"\d+ Observed 1: Pending Gated .*, R0, gate closed", what) for what in told
    )
    assert told[-1].endswith("Ended Succeeded Succeeded (exit code 0)")


def test_a_dump_tells_the_record_and_the_truth_of_each_job() -> None:
    outcome = run(1, Options(faults=False, jobs=1, supervisors=1, trace=True))
    text = outcome.dump
    assert re.search(r"^j1 = [0-9A-Z]{26}\n  record of \d+ events: Succeeded", text, re.MULTILINE)
    assert re.search(r"^    object 1 1:…:1:\d+:\w+: ended\n      read \d+", text, re.MULTILINE)
    assert re.search(r"^  truth of 1:…:1:\d+:\w+: Succeeded, R0", text, re.MULTILINE)
    assert re.search(
        r"^    execution 1000000 on n\d: started [\d.]+, ended [\d.]+, program 0:0$",
        text,
        re.MULTILINE,
    )
