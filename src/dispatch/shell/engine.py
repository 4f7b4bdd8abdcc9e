"""One engine, run by everybody: fold, read, decide, act, until there is nothing to do before a later time.

Any process may die between any two lines of it. What makes that safe is not here: it is the record, the compare-and-set
and the deadline (see acting).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec.structs import replace

from dispatch.core.ceasing import awaited, whose_nodes
from dispatch.core.deciding import next_step
from dispatch.core.sighting import nodes_of
from dispatch.model.answers import Capability
from dispatch.model.errors import (
    Conflict,
    DispatchError,
    NewerSchema,
    NotFound,
    StoreError,
    Unavailable,
)
from dispatch.model.status import Listing, NodeReport, Observation
from dispatch.model.steps import Append, Call, Look, Rest
from dispatch.model.view import JobView, ObjectView, Phase
from dispatch.shell.acting import Writer
from dispatch.shell.batch import Wanted
from dispatch.shell.ledger import Ledger
from dispatch.spi.adapter import Backend, CessationSignal, MultiFinder, Reading
from dispatch.spi.store import Turn

log = logging.getLogger("dispatch.engine")

MOST_TURNS = 12
"""Calls that are made for one job before the others have their turn again."""

OnStep = Callable[[JobView, Append | Call | Look | Rest], None]


@dataclass(frozen=True)
class Standing:
    """Where a round has left a job: when to look again (``None``: it is done), and what it waits for.

    ``until`` is the job's own time where it has one, such as the end of a backoff; it may be looked at before that.
    """

    job: str
    look_at: datetime | None
    why: str = ""
    until: datetime | None = None
    version: int | None = None
    """The version of the record that this was decided on."""


def turns_of(standings: Iterable[Standing]) -> list[Turn]:
    """When to look at each again, as it is written down."""
    return [Turn(job=one.job, due=one.look_at, version=one.version) for one in standings]


@dataclass(frozen=True)
class Read:
    """A job, and what was read of it."""

    view: JobView
    listing: Listing


@dataclass(frozen=True)
class Growing:
    """A job whose record is to say first what was read of it."""

    view: JobView
    listing: Listing
    step: Append


@dataclass(frozen=True)
class Unread:
    """A job that cannot be decided on before the nodes of an execution of it were read, for a proof of cessation."""

    view: JobView
    listing: Listing
    known: ObjectView


class Engine:
    """Advances the jobs of one cluster."""

    def __init__(
        self,
        ledger: Ledger,
        backend: Backend,
        *,
        poll: timedelta = timedelta(seconds=10),
        concurrency: int = 8,
        on_step: OnStep | None = None,
    ) -> None:
        self.ledger = ledger
        self.backend = backend
        # Asked once: to ask a protocol takes as long as a decision.
        self._finder = backend if isinstance(backend, MultiFinder) else None
        self.poll = poll
        self.writer = Writer(ledger, backend, asyncio.Semaphore(concurrency))
        self.on_step = on_step

    async def advance(
        self,
        jobs: Sequence[str],
        *,
        turns: int = MOST_TURNS,
        enough: Callable[[JobView], bool] | None = None,
    ) -> dict[str, Standing]:
        """Advance each job as far as it goes now, by at most so many calls each, or until there is ``enough`` of it.

        A job that is left there is due at once: nothing is known yet of what comes after its last call. Raises ``Unavailable`` where the cluster cannot be read.
        """
        standings: dict[str, Standing] = {}
        pending = list(dict.fromkeys(jobs))
        for _ in range(turns):
            if not pending:
                break
            found = await self._round(pending)
            standings |= found
            pending = [job for job, standing in found.items() if standing.why is AGAIN]
            if enough is not None:
                views = self.ledger.recall(pending)
                pending = [job for job in pending if job not in views or not enough(views[job])]
        return standings

    async def _round(self, jobs: Sequence[str]) -> dict[str, Standing]:
        """Fold, then read, then decide on what was folded (12, R1): one listing for all jobs."""
        views: dict[str, JobView] = {}
        standings: dict[str, Standing] = {}
        kept = self.ledger.recall(jobs)
        for job in jobs:
            try:
                views[job] = self._checked(kept.get(job) or self.ledger.view(job))
            except (StoreError, Conflict, NotFound) as error:
                log.error("job %s is left alone: %s", job, error)  # noqa: TRY400 - said in words
                standings[job] = self._left_alone(job, error)
        if not views:
            return standings
        requested = self._now()
        reading = await self._read(views)
        by_job = _by_job(reading, views, requested, self._now(), self.backend)
        wanted: list[Wanted] = []
        for outcome in await self._decide_all(views, by_job):
            match outcome:
                case Wanted() as one:
                    wanted.append(one)
                case standing:
                    standings[standing.job] = standing
        # The calls of a round are made together: a backend may have one script for many.
        faults = await self.writer.make_all(wanted)
        for one in wanted:
            fault = faults.get(one.view.id)
            standings[one.view.id] = (
                Standing(one.view.id, self._now(), AGAIN)
                if fault is None
                else self._faulty(one.view.id, fault)
            )
        return standings

    def _checked(self, view: JobView) -> JobView:
        """Refuse another cluster behind the alias that the job was accepted for (12, T2)."""
        there, here = view.header.cluster, self.backend.identity
        if (there.adapter, there.name) != (here.adapter, here.name):
            raise Conflict(
                f"The job was accepted for the cluster {there.name!r} ({there.adapter}), but {here.alias!r} is now "
                f"{here.name!r} ({here.adapter}).",
                todo="Give the clusters different names in the configuration.",
            )
        return view

    async def _read(self, views: Mapping[str, JobView]) -> Reading:
        jobs = list(views)
        known = [
            one.ref
            for view in views.values()
            for one in view.objects.values()
            if one.phase is not Phase.CEASED
        ]
        if self._finder is not None:
            return await self._finder.find_many(jobs, known)
        readings = [await self.backend.find(job, known) for job in jobs]
        if len({reading.boot for reading in readings}) > 1:
            raise Unavailable(
                "The controller restarted while its jobs were read.", todo="They are read again."
            )
        seen = tuple(observation for reading in readings for observation in reading.observations)
        return Reading(sent=readings[0].sent, boot=readings[0].boot, observations=seen)

    async def _decide_all(
        self, views: Mapping[str, JobView], listings: Mapping[str, Listing]
    ) -> list[Standing | Wanted]:
        """Append what the listings say, until of each job there is a call to make or nothing to do before a later time.

        Most need nothing but the listing, and cost no task. What is appended to several is appended together, and the nodes
        that several need are read together.
        """
        decided: list[Standing | Wanted] = []
        asked: list[Read] = [Read(view, listings[job]) for job, view in views.items()]
        while asked:
            unread: list[Unread] = []
            growing: list[Growing] = []
            for one in asked:
                match self._one(one):
                    case Unread() as without:
                        unread.append(without)
                    case Growing() as more:
                        growing.append(more)
                    case done:
                        decided.append(done)
            further = [*self._grown(growing), *await self._with_nodes(unread)]
            asked = [one for one in further if isinstance(one, Read)]
            decided += [one for one in further if isinstance(one, Standing)]
        return decided

    def _grown(self, growing: Sequence[Growing]) -> list[Read | Standing]:
        """Append to each; it is then read anew where another writer was there first."""
        changes = [(one.view, one.step.events) for one in growing]
        answers: Sequence[JobView | Exception | None]
        try:
            answers = self.ledger.append_all(changes)
        except Exception as error:  # noqa: BLE001 - told by kind, of each
            answers = [error] * len(growing)
        found: list[Read | Standing] = []
        for one, after in zip(growing, answers, strict=True):
            match after:
                case None:
                    found.append(Standing(one.view.id, self._now(), AGAIN))
                case Exception():
                    found.append(self._faulty(one.view.id, after))
                case JobView():
                    # The record moved by what this very listing said, and by nobody else: it still stands (0005).
                    found.append(Read(after, _carried(one.view, after, one.listing)))
        return found

    async def _with_nodes(self, unread: Sequence[Unread]) -> list[Read | Standing]:
        return [
            self._faulty(one.view.id, nodes)
            if isinstance(nodes, Exception)
            else Read(one.view, self._with(nodes, one.listing))
            for one, nodes in await self._nodes_of_all(unread)
        ]

    def _with(self, nodes: tuple[NodeReport, ...], listing: Listing) -> Listing:
        # The nodes were asked after the listing: what they said may be as young as now.
        answered = listing.sent + (self._now() - listing.requested)
        return replace(listing, nodes=nodes, answered=answered)

    async def _nodes_of_all(
        self, unread: Sequence[Unread]
    ) -> list[tuple[Unread, tuple[NodeReport, ...] | Exception]]:
        """Read the nodes of each job, or say why they cannot be read."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                (one, group.create_task(self._nodes(one), name=f"nodes of {one.view.id}"))
                for one in unread
            ]
        return [(one, task.result()) for one, task in tasks]

    async def _nodes(self, one: Unread) -> tuple[NodeReport, ...] | Exception:
        if not isinstance(self.backend, CessationSignal):
            return ()
        try:
            return await self.backend.nodes(nodes_of(one.known), one.known.ref)
        except Exception as error:  # noqa: BLE001 - told by kind
            # An end can be judged without them: only its kill wait begins later.
            return error if awaited(one.view) is not None else ()

    def _one(self, one: Read) -> Standing | Wanted | Unread | Growing:
        """Decide on one job; a fault of it never stops the others."""
        try:
            return self._decide(one.view, one.listing)
        except Exception as error:  # noqa: BLE001 - told by kind
            return self._faulty(one.view.id, error)

    def _faulty(self, job: str, error: Exception) -> Standing:
        match error:
            case Unavailable():
                return Standing(job, self._now() + self.poll, str(error))
            case DispatchError():
                log.error("job %s: %s", job, error)
                return self._left_alone(job, error)
            case _:
                log.error("job %s: an unforeseen fault", job, exc_info=error)
                return Standing(job, self._now() + LEFT_ALONE, "an unforeseen fault; see the log")

    def _left_alone(self, job: str, error: DispatchError) -> Standing:
        if isinstance(error, NewerSchema):
            # Not in the standing: a cluster that is away answers for all of its jobs alike.
            self.ledger.newer.add(job)
        return Standing(job, self._now() + LEFT_ALONE, str(error))

    def _decide(self, view: JobView, listing: Listing) -> Standing | Wanted | Unread | Growing:
        known = whose_nodes(view, fence=listing.fence) if listing.nodes is None else None
        if known is not None:
            return Unread(view, listing, known)
        step = next_step(view, listing, self._now())
        if self.on_step is not None:
            self.on_step(view, step)
        match step:
            case Append():
                return Growing(view, listing, step)
            case Call():
                return Wanted(view, step, listing)
            case Look():
                due = self._look_at(step)
                return Standing(view.id, due, step.why, step.at, version=view.version)
            case Rest():
                return Standing(view.id, None)

    def _look_at(self, step: Look) -> datetime:
        polled = self._now() + self.poll
        if step.at is None:
            return polled
        # A write that lands early is seen early; all other times are the job's own.
        return min(step.at, polled) if step.row in POLLED_ROWS else step.at

    def _now(self) -> datetime:
        return self.ledger.clock.now()


AGAIN = "again"
"""Why a job that has just been written for is looked at again at once."""

LEFT_ALONE = timedelta(minutes=1)
"""How long a job that cannot be worked on is left alone."""

POLLED_ROWS = frozenset({"await landing", "await evidence", "await cessation", "await save window"})
"""Waits that may end before their time, so that they are polled too."""


def _carried(before: JobView, after: JobView, listing: Listing) -> Listing:
    """The listing for the view that has grown by it; its nodes stand only where the same are asked of the same object."""
    stand = listing.nodes and _asked(before, listing) == _asked(after, listing)
    return replace(listing, version=after.version, nodes=listing.nodes if stand else None)


def _asked(view: JobView, listing: Listing) -> tuple[int, tuple[str, ...]] | None:
    known = whose_nodes(view, fence=listing.fence)
    return None if known is None else (known.submission, nodes_of(known))


def _by_job(
    reading: Reading,
    views: dict[str, JobView],
    requested: datetime,
    answered: datetime,
    backend: Backend,
) -> dict[str, Listing]:
    found: dict[str, list[Observation]] = {job: [] for job in views}
    for seen in reading.observations:
        if seen.key.job in found:
            found[seen.key.job].append(seen)
    return {
        job: Listing(
            version=view.version,
            requested=requested,
            sent=reading.sent,
            boot=reading.boot,
            observations=tuple(found[job]),
            declarations=backend.declarations,
            fence=backend.answers.capability(Capability.FENCE).yes,
            answered=reading.sent + (answered - requested),
        )
        for job, view in views.items()
    }
