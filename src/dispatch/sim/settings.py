"""The cluster of a simulation: how it behaves, drawn by the seed."""

from __future__ import annotations

from msgspec.structs import replace

from dispatch.adapters.memory import Settings
from dispatch.model.answers import Answer, Capability, Tristate
from dispatch.model.quantity import Duration
from dispatch.sim.chance import Stream
from dispatch.sim.options import Options


def random_settings(draw: Stream, options: Options) -> Settings:
    """Draw how the cluster behaves."""
    accounts = Answer(value=Tristate.YES if draw.happens(0.6) else Tristate.NO)
    drawn = Settings(
        shape=options.shape,
        nodes=draw.whole(4, 7),
        slurmd_timeout=Duration(seconds=draw.whole(20, 200)),
        min_job_age=Duration(seconds=draw.weighed(((300, 3.0), (60, 1.0)))),
        cleaning_time=Duration(seconds=draw.weighed(((0, 2.0), (8, 1.0)))),
        max_job_id=draw.weighed(((67_043_328, 4.0), (6, 1.0))),
        revival=draw.happens(0.15),
        requeue_delay=Duration(seconds=121),
        submit_time_moves=draw.happens(0.5),
        capabilities={Capability.ACCOUNTING_HISTORY: accounts},
    )
    return replace(drawn, **dict(options.climate.settings))
