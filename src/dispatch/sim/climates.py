"""Climates: each lets one kind of fault come often, and leaves the rest to the seed. Mutants are met in few seeds there."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from dispatch.adapters.memory import ShapeName
from dispatch.model.quantity import Duration
from dispatch.sim.climate import Climate
from dispatch.sim.options import Options

CRASH = "the controller crashes"
UNHEARD = ("reply lost", "lands late, unheard", "sent and lands late, unheard")


def under(climate: Climate, *, jobs: int = 3, minutes: int = 40) -> Options:
    """Options with that climate."""
    return Options(climate=climate, jobs=jobs, storm=timedelta(minutes=minutes))


SILENT = under(Climate(rate=0.5, writes=UNHEARD))
"""Half of all writes are not heard of."""

TOGETHER = under(
    Climate(rate=0.6, writes=("lands late, unheard", "sent late", "cut short"), life=10**9),
    jobs=6,
    minutes=3,
)
"""Many jobs within little time, and replies that are lost."""

LATE = under(Climate(rate=0.5, writes=("sent and lands late, unheard",), life=10**9))
"""Half of all writes land at the last moment, and nobody is told."""

UNDONE = under(Climate(rate=0.5, writes=("cut short", "begins late")))
"""Half of all writes are done by half, or too late, and nobody is told."""

SLOW = under(Climate(rate=0.5, writes=("begins late", "sent and lands late, unheard")))
"""Commands wait on the login node, far beyond their deadline."""

HANGING = under(
    Climate(
        acts=("the controller hangs for a minute",), spite=0.8, reactions=("the controller hangs for a minute",),
        after=("start", "open"), within=0.7, poll=10,
    )
)  # fmt: skip
"""The controller hangs, and works off what it was sent in no order."""

FORGETFUL = under(Climate(spite=0.6, reactions=(CRASH,), after=("open", "begins"), within=4))
"""The controller crashes when it has just opened or started something."""

FORGETFUL_SILENT = under(
    Climate(
        rate=0.5, writes=("reply lost",), spite=0.6, reactions=(CRASH,), after=("begins",), within=3
    )
)
"""The same, and nobody has heard of the open."""

FORGETFUL_OF_STOPS = under(
    Climate(
        asks=("stop",), asks_within=60, spite=0.9, reactions=(CRASH,), after=(" stop",), within=2,
        settings=(("capacity", 1),),
    )
)  # fmt: skip
"""The controller crashes when it has just stopped something that waits in its queue."""

PREEMPTING = under(Climate(ends=("is preempted", "is killed by a signal")))
"""Nothing comes to its end undisturbed."""

STOPPED_BETWEEN = under(Climate(ends=("is preempted",), asks=("stop",), asks_within=150))
"""Jobs are stopped while they wait for their next execution."""

STOPPED_IN_SILENCE = under(
    Climate(rate=0.5, writes=UNHEARD, asks=("stop",), asks_within=20, life=10**9)
)
"""Jobs are stopped while nobody knows what became of their open."""

LOSING_NODES = under(
    Climate(
        ends=("loses its node",),
        settings=(("kill_delay", Duration(seconds=28)), ("slurmd_timeout", Duration(seconds=20))),
    )
)
"""Every execution loses a node, and what is back kills late."""

GIVEN_UP = under(
    Climate(
        ends=("is preempted",),
        spite=0.9,
        reactions=("a node is lost",),
        after=("begins",),
        within=30,
        settings=LOSING_NODES.climate.settings,
    )
)
"""A node is lost about when its execution is preempted, and the controller gives it up while it cleans up."""

SET_BACK = under(
    Climate(
        acts=("the records are backed up, and set back later",),
        spite=0.15,
        reactions=("the records are backed up, and set back later",),
    )
)
"""The records are set back again and again."""

ADMINISTERED = under(
    Climate(spite=0.8, reactions=("an administrator holds",), after=("start",), within=1)
)
"""An administrator holds what has just been started."""

HELD = under(Climate(asks=("hold", "release", "hold", "release"), asks_within=60))
"""People hold and release, again and again."""

HELD_TWICE = under(
    Climate(
        rate=0.5, writes=("lands twice",), asks=("hold", "release") * 5, asks_within=20, life=10**9,
        settings=(("capacity", 0),),
    )
)  # fmt: skip
"""The same, and calls land twice."""

HELD_A_WHILE = under(Climate(asks=("hold a while",), asks_within=30))
"""People hold for a time."""

REQUEUED = under(
    Climate(
        acts=("somebody requeues",),
        ends=("is preempted", "exits with 1"),
        settings=(("revival", True),),
    )
)
"""Everything may run again, and others let it."""

FORGOTTEN = under(
    Climate(acts=("the queue forgets",), spite=0.3, reactions=("the queue forgets",), within=60)
)
"""The queue forgets what has ended at once."""


DYING = under(Climate(life=20, ends=("exits with 1", "is preempted")))
"""Every process dies soon."""

LOSING_NODES_ADMINISTERED = under(
    Climate(
        ends=("loses its node",),
        settings=(("slurmd_timeout", Duration(seconds=20)),),
        spite=0.8,
        reactions=("an administrator holds",),
        after=("start",),
        within=1,
        assumed="20s",
    )
)
"""Every execution loses a node, and an administrator holds the next."""

LOSING_NODES_DYING = under(replace(LOSING_NODES_ADMINISTERED.climate, life=20))
"""The same, and every process dies soon."""

SLOWING = under(
    Climate(
        rate=0.5,
        writes=("sent and lands late, unheard",),
        life=10**9,
        spite=0.5,
        reactions=("the cluster slows down",),
        after=("begins",),
        ends=("is preempted", "exits with 1"),
    )
)
"""A call takes longer than when the jobs were accepted."""

MISLED = under(Climate(acts=("another cluster has the alias",)))
"""A supervisor is started with another cluster behind the alias."""

UPGRADED = under(Climate(acts=("somebody upgrades",)))
"""One after the other upgrades, a supervisor or a person."""

REFUSED = under(
    Climate(rate=0.2, writes=("refused for good",), asks=("stop",), asks_within=20), minutes=10
)
"""The scheduler refuses much for good, and people give up soon."""

BUSY = under(
    Climate(
        rate=0.5, writes=("refused for now",), asks=("stop",), asks_within=3,
        spite=0.6, reactions=(CRASH,), after=("open", "begins"), within=4,
    ),
    minutes=20,
)  # fmt: skip
"""It refuses half of all for now, also what must be stopped."""

PATIENT = under(
    Climate(rate=0.5, writes=("sent late", "begins late"), acts=("more reads are asked for",))
)
"""Much never lands, and two reads do not suffice to say so."""

PROOFLESS = under(
    Climate(
        ends=("loses its node",),
        settings=(("slurmd_timeout", Duration(seconds=20)),),
        asks=("release",) * 8,
        asks_within=120,
    )
)
"""Every execution loses a node, and a person says that it is gone."""

CANCELLED = replace(
    under(
        Climate(
            rate=0.7, writes=("sent late", "reply late"), life=10, spite=0.9,
            reactions=("somebody cancels",), after=("start",), within=3,
            settings=(("min_job_age", Duration(seconds=5)),),
        )
    ),
    supervisors=4,
)  # fmt: skip
"""Others cancel what has just been started, while its open is under way."""

FORGETFUL_OF_HOLDS = under(
    Climate(
        rate=0.6, writes=("refused for now", "lands late", "lands late, unheard"), life=10**9, poll=10,
        asks=("hold", "release", "hold"), asks_within=25,
        spite=0.9, reactions=(CRASH,), after=(" hold",), within=0.6,
    )
)  # fmt: skip
"""The controller crashes when it has just taken a hold, and opens land late."""

HELD_BY_HAND = under(
    Climate(
        acts=("a person holds by hand",), asks=("hold a while",) * 3, asks_within=60,
        spite=0.5, reactions=("a person holds by hand",), after=(" hold",), within=90,
        settings=(("capacity", 0),),
    )
)  # fmt: skip
"""People hold by hand what they hold by dispatch, and nothing runs meanwhile."""

GONE_UNHEARD = replace(
    under(
        Climate(
            rate=0.5, writes=("reply lost",), life=15, poll=10,
            ends=("is cancelled by its owner",),
            spite=0.5, reactions=("the queue forgets",), after=("begins",), within=30,
        )
    ),
    shape=ShapeName.KUBEFLOW,
)  # fmt: skip
"""What is cancelled is gone at once, and nobody has heard of its open."""

SET_BACK_HELD = replace(
    under(
        Climate(
            acts=("the records are backed up, and set back later",),
            spite=0.15, reactions=("the records are backed up, and set back later",),
            asks=("hold", "release", "hold", "release", "hold"), asks_within=100,
            settings=(("capacity", 0),),
        )
    ),
    shape=ShapeName.KUBEFLOW,
)  # fmt: skip
"""The records are set back, and objects remember holds that these have forgotten."""

STOPPED_AND_WAITED_FOR = under(Climate(acts=("a person waits for a stop",)))
"""People stop jobs, and wait until they are told that it is true."""

CLEANING_LONG = under(
    Climate(ends=("is preempted",), settings=(("cleaning_time", Duration(seconds=90)),))
)
"""Nothing comes to its end undisturbed, and nodes clean up for longer than a controller may forget."""

STANDING_STILL = under(
    Climate(
        rate=0.1, poll=10,
        acts=("a process stands still",),
        spite=0.6, reactions=("a process stands still", CRASH), within=0.4,
    )
)  # fmt: skip
"""Processes stand still when they have just called, and go on later with what they knew."""

CLIMATES: dict[str, Options] = {
    "administered": ADMINISTERED,
    "busy": BUSY,
    "cancelled": CANCELLED,
    "cleaning-long": CLEANING_LONG,
    "dying": DYING,
    "forgetful": FORGETFUL,
    "forgetful-of-holds": FORGETFUL_OF_HOLDS,
    "forgetful-of-stops": FORGETFUL_OF_STOPS,
    "forgetful-silent": FORGETFUL_SILENT,
    "forgotten": FORGOTTEN,
    "given-up": GIVEN_UP,
    "gone-unheard": GONE_UNHEARD,
    "hanging": HANGING,
    "held": HELD,
    "held-a-while": HELD_A_WHILE,
    "held-by-hand": HELD_BY_HAND,
    "held-twice": HELD_TWICE,
    "late": LATE,
    "losing-nodes": LOSING_NODES,
    "losing-nodes-administered": LOSING_NODES_ADMINISTERED,
    "losing-nodes-dying": LOSING_NODES_DYING,
    "misled": MISLED,
    "patient": PATIENT,
    "preempting": PREEMPTING,
    "proofless": PROOFLESS,
    "refused": REFUSED,
    "requeued": REQUEUED,
    "set-back": SET_BACK,
    "set-back-held": SET_BACK_HELD,
    "silent": SILENT,
    "slow": SLOW,
    "slowing": SLOWING,
    "stopped-and-waited-for": STOPPED_AND_WAITED_FOR,
    "standing-still": STANDING_STILL,
    "stopped-between": STOPPED_BETWEEN,
    "stopped-in-silence": STOPPED_IN_SILENCE,
    "together": TOGETHER,
    "undone": UNDONE,
    "upgraded": UPGRADED,
}
"""By name."""
