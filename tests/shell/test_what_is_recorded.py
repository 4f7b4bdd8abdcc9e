"""What is accepted can be read again: a record that nobody can read is a job that nobody supervises."""

from __future__ import annotations

from typing import Any

import pytest

from dispatch.model.errors import Invalid
from shell.world import World


@pytest.mark.parametrize(
    "fields",
    [{"labels": {"run": "one\ntwo"}}, {"nodes": 0}, {"env": {"A B": "1"}}],
    ids=lambda fields: next(iter(fields)),
)
def test_a_job_whose_record_could_not_be_read_is_refused(
    world: World, fields: dict[str, Any]
) -> None:
    """Values check no types and no bounds when they are made, as the decoder does."""
    with pytest.raises(Invalid):
        world.submit(**fields)
