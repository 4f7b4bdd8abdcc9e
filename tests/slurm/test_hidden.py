"""Jobs in a partition that Slurm hides, as from those who are not in its groups: they are ours all the same."""

from __future__ import annotations

import pytest

from dispatch.adapters.slurm import SlurmBackend
from dispatch.model.status import Gate, State
from lab import Lab

from .conftest import NewLab
from .test_adapter import meta, on, order_of

pytestmark = pytest.mark.slurm


@pytest.mark.parametrize("suite", ["forky", "bookworm"])
def test_a_job_in_a_hidden_partition_is_seen_and_opened(new_lab: NewLab, suite: str) -> None:
    """Unseen, it would count as one that never landed, and be submitted once more."""
    lab: Lab = new_lab(suite=suite)
    lab.text(
        "root",
        "scontrol",
        "create",
        "PartitionName=hidden",
        "Nodes=ALL",
        "Hidden=YES",
        "State=DOWN",
    )

    async def act(backend: SlurmBackend) -> None:
        orders = [order_of(partition="hidden") for _ in range(3)]
        alone = await backend.start(orders[0], meta())
        together = await backend.start_many(orders[1:], meta())
        refs = [alone, *(str(one) for one in together)]
        for known in ((), refs):
            seen = (await backend.find_many([order.id for order in orders], known)).observations
            assert sorted(one.ref for one in seen) == sorted(refs)
            assert {(one.state, one.gate) for one in seen} == {(State.PENDING, Gate.CLOSED)}
        assert {one.ref for one in await backend.list_living()} == set(refs)
        await backend.open(refs[0], meta())
        assert await backend.open_many(refs[1:], meta()) == [None, None]
        seen = (await backend.find_many([order.id for order in orders], refs)).observations
        assert {(one.state, one.gate) for one in seen} == {(State.PENDING, Gate.OPEN)}

    on(lab, act)
