"""The nodes of a simulated cluster: which an execution gets, and when a lost one is back."""

from __future__ import annotations

from typing import Any

from dispatch.model.job import Job
from dispatch.model.policy import ExcludeNodes
from dispatch.model.status import Cause
from dispatch.whatif.cluster import TOO_FEW, Cluster
from dispatch.whatif.weather import Source
from whatif.makers import HOUR, conditions, every, fixed, job, policy, rule


def cluster(*sources: Source, nodes: int = 2, **fields: Any) -> tuple[Cluster, Job]:
    made = job(policy(rule(Cause.NODE_LOST, exclude_nodes=ExcludeNodes(max=9))), nodes=nodes)
    return Cluster(conditions(*sources, **fields), None, made), made


def test_an_execution_is_kept_off_the_nodes_that_are_excluded() -> None:
    found, made = cluster(spares=2)
    assert found.execute(made, (), 1, 0).names == ("n1", "n2")
    for excluded, names in {
        ("n1",): ("n2", "n3"),
        ("n3", "n1"): ("n2", "n4"),
        ("n4",): ("n1", "n2"),
    }.items():
        assert found.execute(made, excluded, 1, 0).names == names
    fate = found.execute(made, ("n1", "n2", "n3"), 1, 0)
    assert (fate.cut, fate.why) == (True, TOO_FEW)


def test_a_lost_node_is_used_again_once_it_answers() -> None:
    lost_once = every("1h", cause=Cause.NODE_LOST)
    found, made = cluster(lost_once, spares=2, repair=fixed("5h"))
    first = found.execute(made, (), 1, 0)
    [lost] = first.detail.nodes
    assert lost in first.names
    assert found.returns((lost,)) == 6 * HOUR
    second = found.execute(made, (), 2, 2 * HOUR)
    assert lost not in second.names
    [other] = second.detail.nodes
    assert {"n1", "n2", "n3"} - {lost} >= set(second.names)
    assert lost not in found.execute(made, (), 3, 6 * HOUR - 1).names
    back = found.execute(made, (), 4, 6 * HOUR)
    assert lost in back.names
    assert other not in back.names


def test_an_execution_waits_for_lost_nodes_where_there_are_no_others() -> None:
    found, made = cluster(every("1h", cause=Cause.NODE_LOST), spares=0, repair=fixed("5h"))
    found.execute(made, (), 1, 0)
    assert found.execute(made, (), 2, 2 * HOUR).execution.started == 6 * HOUR
