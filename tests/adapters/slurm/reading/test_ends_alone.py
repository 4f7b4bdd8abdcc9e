"""What the script's own end record is worth where nothing else is left (12, E6)."""

from __future__ import annotations

import pytest

from adapters.slurm.reading.given import START, seen, tickets
from dispatch.model.status import Cause, State


@pytest.mark.parametrize(
    ("nodes", "end", "cause", "proven"),
    [
        ("n1", "status=0", None, True),
        ("n[1-2]", "status=0", None, True),
        ("n1", "status=3", Cause.NON_ZERO_EXIT, True),
        ("n1", "status=139 signal=SEGV", Cause.SIGNALLED, True),
        ("n1", "status=137", Cause.UNKNOWN, False),
        ("n1", "status=143 signal=TERM", Cause.UNKNOWN, False),
        ("n1", "status=0 told=TERM", Cause.UNKNOWN, False),
        ("n[1-2]", "status=1", Cause.UNKNOWN, False),
        ("n[1-2]", "status=1 launch=failed", Cause.LAUNCH_FAILED, True),
    ],
)
def test_an_end_that_a_lost_node_may_have_caused_proves_nothing(
    nodes: str, end: str, cause: Cause | None, *, proven: bool
) -> None:
    left = tickets(
        start_1000000=f"jobid=7 attempt=a1 nodes={nodes} started={START}",
        end_1000000=f"{end} ended={START + 40} attempt=a1",
    )
    found = seen(left=left)
    assert (found.cause, found.verdict.proven) == (cause, proven)
    assert (found.state is State.SUCCEEDED) == (cause is None)
    assert found.final
