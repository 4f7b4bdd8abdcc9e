"""The share of seeds that every run of the tests covers, without a mutant: none of them breaks a rule."""

from __future__ import annotations

import pytest

from dispatch.adapters.memory import ShapeName
from dispatch.sim import Options, hunt

CHUNK = 50
SLURM, KUBEFLOW = ShapeName.SLURM, ShapeName.KUBEFLOW
SHARE = (
    *(Options(shape=SLURM),) * 8,
    *(Options(shape=KUBEFLOW),) * 4,
    *(Options(shape=SLURM, supervisors=3, jobs=5),) * 2,
    Options(shape=KUBEFLOW, supervisors=3, jobs=5),
    Options(shape=SLURM, supervisors=1, jobs=1),
)
"""Of each the next fifty seeds from a thousand on, so that no two of them are of one seed."""


@pytest.mark.parametrize("number", range(len(SHARE)))
def test_no_seed_of_the_fixed_share_breaks_a_rule(number: int) -> None:
    options = SHARE[number]
    first = 1_000 + CHUNK * number
    tally = hunt(range(first, first + CHUNK), options, workers=1)
    assert tally.broken is None, f"{tally.broken.seed}, {options}: {tally.broken.violation}"
    assert tally.seeds == CHUNK
    assert tally.faults.total() > CHUNK
