"""The bench of the core suite: a whole dispatch on a harness's backend, whose supervisors run while a check looks on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from dispatch.conformance.bench import Bench
from dispatch.conformance.core.process import ALIAS, Process
from dispatch.conformance.harness import Harness
from dispatch.conformance.scheduler import Made, Scheduler
from dispatch.conformance.verdicts import Broken, CannotDo, expect
from dispatch.core.explaining import explain
from dispatch.model.answers import Answers, Capability, Feature, Tristate
from dispatch.model.job import Job, features_of
from dispatch.model.journal import AnyEvent, Intended, Verb
from dispatch.model.policy import Cessation, Policy
from dispatch.model.status import Cause, State
from dispatch.model.view import JobView, Phase
from dispatch.shell.operator import Operator
from dispatch.testing.faults import FaultyStore

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory of our own is made in it
PATIENCE = 6
"""Waits of the harness within which a job must be where it should; a landing bound and a backoff are among them."""

DECLARED = Cessation(after="30s")
"""The wait that a policy declares on a cluster that cannot prove that what it has lost is gone."""


class CoreBench:
    """Where a check of the core suite works; ``close`` lets go of everything.

    A person's process asks, and one supervisor runs from the beginning. A check does something, and waits for what the
    records say: it moves no engine by hand.
    """

    process: type[Process] = Process
    """What a process is made of; a suite that tests this one puts a broken one here."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.backends = Bench(harness)
        self.may_overlap = False
        """Whether the policy has declared that a lost execution may live beside the next (12, E4)."""
        self._place = tempfile.TemporaryDirectory(prefix="dispatch-conformance-", dir=_memory())
        self._processes: list[Process] = []
        self._jobs: list[str] = []

    async def begin(self) -> None:
        """Open the cluster, and start a person's process and a supervisor."""
        await self.backends.begin()
        self.person = await self._process("login1")
        self.supervisor = await self.another("host1")

    async def another(self, host: str, kind: type[FaultyStore] = FaultyStore) -> Process:
        """Start one more supervisor on the same records, with a view of its own."""
        process = await self._process(host, kind)
        process.supervise()
        return process

    async def _process(self, host: str, kind: type[FaultyStore] = FaultyStore) -> Process:
        records = Path(self._place.name) / "records.db"
        process = self.process(records, await self.backends.view(), self.harness, host, kind)
        self._processes.append(process)
        return process

    async def close(self) -> None:
        """Let go of everything, and leave nothing on the cluster."""
        for process in self._processes:
            await process.end()
        await self.backends.end()
        self._place.cleanup()

    async def move_the_person_to_a_cluster_without(
        self, capability: Capability, value: Tristate
    ) -> None:
        """Let the person submit to a cluster that answers so."""
        view = await self.backends.view_without(capability, value)
        self.person.clusters.named(ALIAS).use(view)

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler's side."""
        return self.harness.scheduler

    @property
    def a_while(self) -> timedelta:
        """Longer than it takes to run something and let it end, by the time of the harness."""
        return max(self.harness.timings.quiet, timedelta(minutes=2))

    @property
    def ask(self) -> Operator:
        """What a person can ask for."""
        return self.person.operator

    async def submit(
        self, policy: Policy | None = None, job: Job | None = None, **fields: Any
    ) -> str:
        """Submit this job or one of the harness, and return its id; nothing is started before time passes.

        A check whose job needs what the harness's own does not, and this cluster does not honour, is skipped.
        """
        recovery = self._where_proof_cannot_be_had(policy)
        spec = replace(job or self.harness.job(), cluster=ALIAS, recovery=recovery, **fields)
        self._demand(features_of(spec) - features_of(self.harness.job()))
        submitted = (await self.ask.submit(spec)).id
        self._jobs.append(submitted)
        return submitted

    def _where_proof_cannot_be_had(self, policy: Policy | None) -> Policy | None:
        """The policy; where no cessation can be proven, with a wait declared, without which each is refused (12, E4)."""
        if policy is None or self._answers.capability(Capability.CESSATION).yes:
            return policy
        return policy if policy.cessation != Cessation() else replace(policy, cessation=DECLARED)

    def _demand(self, features: Iterable[Feature]) -> None:
        for feature in sorted(features):
            answer = self._answers.feature(feature)
            if not answer.yes:
                raise CannotDo(
                    f"{feature} is {answer.value} here: {answer.reason or 'no reason given'}"
                )

    @property
    def _answers(self) -> Answers:
        return self.backends.backend.answers

    # ----------------------------------------------------------------- looking

    def view(self, job: str) -> JobView:
        """The job as the records say."""
        return self.person.ledger.view(job)

    def events(self, job: str) -> list[AnyEvent]:
        """The record of the job."""
        return [entry.event for entry in self.person.ledger.history(job)]

    def intents(self, job: str) -> list[Verb]:
        """The writes to the scheduler that were intended, in order."""
        return [event.intent.verb for event in self.events(job) if isinstance(event, Intended)]

    async def look(self) -> None:
        """Let a little time pass; demand that the supervisors live and that no job has run twice at once (02, S1)."""
        await self.harness.pass_time(self.harness.timings.poll / 3)
        for process in self._processes:
            process.check()
        for job in self._jobs:
            if overlaps := not self.may_overlap and self.harness.overlaps(job):
                raise Broken(f"{overlaps} executions of the job have begun beside another of it")

    async def until(self, job: str, reached: Callable[[JobView], bool], what: str) -> JobView:
        """Wait until the job is so; ``Broken`` where that takes too long."""
        end = self.harness.now() + PATIENCE * self.harness.timings.wait
        while not reached(self.view(job)):
            if self.harness.now() > end:
                raise Broken(f"the job is not {what}: {explain(self.view(job)).headline}")
            await self.look()
        return self.view(job)

    async def quietly(self, job: str, holds: Callable[[JobView], bool], otherwise: str) -> None:
        """Demand that something is true of the job, and stays so for the quiet time."""
        end = self.harness.now() + self.harness.timings.quiet
        while True:
            expect(holds(self.view(job)), f"{otherwise}: {explain(self.view(job)).headline}")
            if self.harness.now() >= end:
                return
            await self.look()

    async def passing(self, duration: timedelta) -> None:
        """Let so much time pass, and look meanwhile."""
        end = self.harness.now() + duration
        while self.harness.now() < end:
            await self.look()

    def made(self, job: str, submission: int) -> Made:
        """The object of a submission, as the powers of a scheduler take it."""
        view = self.view(job)
        known = view.objects[submission]
        order = self.backends.order(view.job, of=job, submission=submission)
        return Made(known.ref, replace(order, attempt=known.attempt))

    async def running(self, job: str, submission: int = 1) -> Made:
        """Wait until that submission is seen running, and no other is there; give its object."""

        def reached(view: JobView) -> bool:
            known = view.objects.get(submission)
            return bool(known and known.seen and known.seen.state is State.RUNNING)

        view = await self.until(job, reached, f"running as submission {submission}")
        expect(max(view.objects) == submission, f"there is a submission {max(view.objects)}")
        return self.made(job, submission)

    async def queued(self, policy: Policy | None = None) -> tuple[str, Made]:
        """Fill the cluster, submit a job, and wait until its first object is open and waits in the queue; give both."""
        await self.scheduler.fill()
        job = await self.submit(policy)

        def reached(view: JobView) -> bool:
            known = view.objects.get(1)
            if known is None or known.phase is not Phase.OPEN or known.seen is None:
                return False
            return known.seen.state is State.PENDING and known.seen.cause is not Cause.GATED

        await self.until(job, reached, "open and queued")
        return job, self.made(job, 1)

    async def has_died(self, process: Process) -> None:
        """Wait until a process has met the death that was laid in its way."""
        end = self.harness.now() + PATIENCE * self.harness.timings.wait
        while not process.dead:
            expect(
                self.harness.now() <= end, f"the process on {process.host} did not come that far"
            )
            await self.look()

    async def ended(self, job: str) -> JobView:
        """Wait until the job has its final verdict."""
        return await self.until(job, lambda view: view.verdict is not None, "ended")

    async def ends_as(self, job: str, state: State, cause: Cause | None = None) -> JobView:
        """Wait until the job has its final verdict, and demand that it is this."""
        view = await self.ended(job)
        found = view.verdict and (view.verdict.state, view.verdict.cause)
        expect(
            found == (state, cause),
            f"the verdict is {explain(view).headline}, not {cause or state}",
        )
        return view

    async def held(self, job: str) -> JobView:
        """Wait until the job is held; demand that no further execution of it runs meanwhile."""
        view = await self.until(job, lambda view: view.hold is not None, "held")
        last = last_that_ran(view)
        await self.quietly(
            job, lambda view: last_that_ran(view) == last, "it runs while it is held"
        )
        return view

    async def preempt(self, made: Made) -> None:
        """Let the scheduler end it by a preemption; one that runs it again by itself leaves the policy nothing to do."""
        await self.scheduler.preempt(made)
        if (await self.backends.see(made)).state is State.PENDING:
            raise CannotDo("the scheduler itself runs again what it has preempted")
        with suppress(CannotDo):
            await self.scheduler.make_room()


def _memory() -> Path | None:
    """Where records that need to outlive nothing cost no wait for a disk; none: where temporary files lie."""
    return _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else None


def last_that_ran(view: JobView) -> int:
    """The last submission of which an execution was seen; 0 where none was."""
    return max((n for n, known in view.objects.items() if known.ran is not None), default=0)
