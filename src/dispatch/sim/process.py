"""A process of dispatch that may die at any of its points, with all that it had in memory."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from dispatch.model.journal import Actor
from dispatch.shell.clusters import Clusters, EngineOptions
from dispatch.shell.driving import Driver
from dispatch.shell.ledger import Ledger
from dispatch.shell.operator import Operator
from dispatch.shell.supervisor import Supervisor
from dispatch.sim.hosts import HostClock
from dispatch.sim.records import Records
from dispatch.sim.scenario import Kind
from dispatch.sim.upgrading import Handle
from dispatch.sim.wire import open_wire
from dispatch.spi.adapter import AdapterConfig
from dispatch.testing.points import Crash

if TYPE_CHECKING:
    from dispatch.sim.site import Site

CLUSTER = "c"
"""The alias of the one cluster."""


class Process:
    """One process: its own memory, on a host's clock, with handles on the records and the cluster.

    Each write to the records and each leg of a call is a point. ``fatal`` is the number of the one at which it dies.
    """

    def __init__(
        self, site: Site, name: str, clock: HostClock, records: Records, *, poll: timedelta
    ) -> None:
        self.site = site
        self.name = name
        self.life_of = name.partition(".")[0].partition("-")[0]
        self.records = records
        self.dead = False
        self.paused_until = 0.0
        """Before that moment nothing of it goes on."""
        self.task: asyncio.Task[Any] | None = None
        self.points = 0
        self.fatal = site.weather.fatal_point(name)
        self.backend = open_wire(site, self)
        self.store = Handle(self)
        self.ledger = Ledger(self.store, clock, Actor(user="alice", host=name, role="sim"))
        options = EngineOptions(poll=poll, on_step=site.coverage.stepped)
        self.clusters = Clusters(_no_config, self.ledger, options)
        self.clusters.named(CLUSTER).use(self.backend)
        self.operator = Operator(self.ledger, self.clusters)
        self.driver = Driver(self.ledger, self.clusters)

    @property
    def is_supervisor(self) -> bool:
        """Whether it is the life of a supervisor, rather than a person's command."""
        return "." in self.name

    def supervisor(self, gather: timedelta) -> Supervisor:
        """The supervisor that runs in this process."""
        return Supervisor(self.ledger, self.clusters, "sim", gather=gather, sweeps=(CLUSTER,))

    def point(self, what: str) -> None:
        """Pass a point; an unnamed one only asks whether the process lives. Raises ``Crash``."""
        if self.dead:
            raise Crash
        if what:
            self.site.step(self.name, what)
            self.points += 1
            struck = self.site.strikes.get(self.site.steps) is Kind.DIE
            if struck or (
                self.points == self.fatal and self.site.faults.allow(f"{self.name} dies")
            ):
                self.die()
                raise Crash

    def die(self) -> None:
        """Die: from here on nothing that the code still tries has an effect."""
        if not self.dead:
            self.dead, self.paused_until = True, 0.0
            self.site.step(self.name, "is dead")
            if self.task is not None:
                self.site.loop.call_soon(self.task.cancel)


def _no_config(alias: str) -> AdapterConfig:
    raise AssertionError(alias)
