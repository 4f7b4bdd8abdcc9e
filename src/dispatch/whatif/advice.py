"""How often to save: the classical estimates for these conditions.

Young, "A first order approximation to the optimum checkpoint interval", Communications of the ACM 17(9), 1974; Daly, "A
higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation Computer Systems 22, 2006.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dispatch.model.job import Job
from dispatch.model.status import Cause
from dispatch.whatif.conditions import Conditions


class Advice(NamedTuple):
    """The mean time between failures that lose work, and the intervals of work between checkpoints, in milliseconds."""

    mtbf: int
    young: int
    daly: int


def advise(conditions: Conditions, job: Job) -> Advice | None:
    """Estimate the best interval; ``None`` where saving costs nothing, or nothing is ever lost."""
    cost = conditions.program.checkpoint_cost.ms
    mtbf = mean_time_between_losses(conditions, job)
    if not cost or math.isinf(mtbf):
        return None
    return Advice(round(mtbf), round(young(cost, mtbf)), max(round(daly(cost, mtbf)), 1))


def mean_time_between_losses(conditions: Conditions, job: Job) -> float:
    """The mean time of running between two failures that lose what is not saved, in milliseconds."""
    rate = 0.0
    for source in conditions.sources_in(job.partition):
        if source.cause is Cause.PREEMPTED and conditions.program.saves_when_preempted:
            continue
        mean = source.mean_ms / (job.nodes if source.per_node else 1)
        rate += 1 / max(mean, 1.0)
    return 1 / rate if rate else math.inf


def young(cost: float, mtbf: float) -> float:
    """Work between two checkpoints by Young, in the unit of its arguments."""
    return math.sqrt(2 * cost * mtbf)


def daly(cost: float, mtbf: float) -> float:
    """Work between two checkpoints by Daly, in the unit of its arguments."""
    if cost >= 2 * mtbf:
        return mtbf
    share = cost / (2 * mtbf)
    return young(cost, mtbf) * (1 + math.sqrt(share) / 3 + share / 9) - cost


def expected_ratio(every: float, cost: float, restart: float, mtbf: float) -> float:
    """The share of time that is kept, where a job is always running and fails with a constant rate.

    Daly's exact expectation: to get through ``every`` of work and one checkpoint takes
    ``mtbf × e^(restart/mtbf) × (e^((every+cost)/mtbf) − 1)``.
    """
    return every / (mtbf * math.exp(restart / mtbf) * math.expm1((every + cost) / mtbf))
