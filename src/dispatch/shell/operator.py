"""What a person's process does: submit, and ask for a stop, a hold or a release.

A request is an event of the record (12, B7). It is carried out by whoever runs the engine next, in the order of the
versions, and is acknowledged when it has become true.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from msgspec.structs import replace

from dispatch.core.planning import make_plan
from dispatch.core.recovery import changed_job
from dispatch.model.base import Value
from dispatch.model.codec import decode, encode, fingerprint
from dispatch.model.errors import Conflict, DispatchError, Fault, Finished, Invalid
from dispatch.model.job import Job
from dispatch.model.journal import Accepted, AnyEvent, HoldAsked, ReleaseAsked, StopAsked
from dispatch.model.plan import Plan
from dispatch.model.view import JobView
from dispatch.shell.clusters import Clusters
from dispatch.shell.identity import new_ulid
from dispatch.shell.ledger import Begun, Ledger
from dispatch.spi.adapter import Checker
from dispatch.spi.store import Summary


class Submitted(Value):
    """An accepted job; ``created`` is false where the key named a job that was there already."""

    id: str
    created: bool
    summary: Summary


class Operator:
    """Submits jobs and records what people ask for. Nothing here writes to a scheduler."""

    def __init__(self, ledger: Ledger, clusters: Clusters) -> None:
        self.ledger = ledger
        self.clusters = clusters

    async def plan(self, job: Job) -> Plan:
        """Plan the job on its cluster.

        Raises ``Refused`` with every reason, ``Invalid`` with every fault that the adapter finds, or for a job that no file
        could say, and what opening the cluster raises.
        """
        # Values check nothing when a program builds them, and a record that cannot be read again is a job that is lost.
        decode(encode(job), Job)
        backend = await self.clusters.named(job.cluster or "").backend()
        plan = make_plan(job, backend.answers)
        if isinstance(backend, Checker):
            check_job(job, backend)
        return plan

    async def submit(self, job: Job) -> Submitted:
        """Accept a job: plan it and write its header. The same key and spec give the same job.

        Raises ``Conflict`` where the key belongs to another spec, ``Refused``, ``Invalid`` for a job that no file could say,
        and what opening the cluster raises.
        """
        (submitted,) = await self.submit_all([job])
        if isinstance(submitted, DispatchError):
            raise submitted
        return submitted

    async def submit_all(self, jobs: Sequence[Job]) -> list[Submitted | DispatchError]:
        """Accept jobs: all are planned before the first header is written, and these are written together.

        The answers are in their order: of each what ``submit`` returns, or its error once it was planned. Raises what
        planning raises.
        """
        headers = [await self._header(job) for job in jobs]
        begun = iter(self.ledger.begin_all([one for one in headers if isinstance(one, Accepted)]))
        answers: list[Submitted | DispatchError] = []
        for job, header in zip(jobs, headers, strict=True):
            found = next(begun) if isinstance(header, Accepted) else (None, header)
            try:
                answers.append(_submitted(found, fingerprint(job)))
            except Conflict as error:
                answers.append(error)
        return answers

    async def _header(self, job: Job) -> Accepted | Summary:
        """Plan the job; of one whose key is known, what has it."""
        if job.key and (existing := self._by_key(job.key)):
            return existing
        plan = await self.plan(job)
        backend = await self.clusters.named(job.cluster or "").backend()
        return Accepted(
            id=new_ulid(self.ledger.clock.now()),
            job=job,
            spec_hash=fingerprint(job),
            plan=plan,
            cluster=replace(backend.identity, alias=job.cluster or backend.identity.alias),
            store=self.ledger.store.id,
            declarations=backend.declarations,
        )

    def _by_key(self, key: str) -> Summary | None:
        return next((found for found in self.ledger.store.resolve(key) if found.key == key), None)

    def ask_stop(self, job: str, why: str = "") -> JobView:
        """Ask for the job to end, for good. Asking again changes nothing. Raises ``Finished``."""

        def ask(view: JobView) -> AnyEvent | None:
            return None if view.stop else StopAsked(by=self.ledger.actor.user, why=why)

        return self._ask(job, "stopped", ask)

    def ask_hold(self, job: str, why: str = "", until: datetime | None = None) -> JobView:
        """Ask that no further execution starts before the hold's release; the very same hold a second time is the first.

        Raises ``Finished``, ``Conflict`` (held otherwise).
        """
        wanted = (self.ledger.actor.user, why, until)

        def ask(view: JobView) -> AnyEvent | None:
            if view.hold is not None:
                if (view.hold.by, view.hold.why, view.hold.until) == wanted:
                    return None
                raise Conflict(
                    f"The job is held already, by {view.hold.by}.",
                    todo="`dispatch release` it first, to hold it anew.",
                )
            return HoldAsked(
                instance=view.last_instance + 1, by=self.ledger.actor.user, why=why, until=until
            )

        return self._ask(job, "held", ask)

    def ask_release(self, job: str) -> JobView:
        """Ask for the current hold to be lifted. Raises ``Finished``, ``Conflict`` (there is none of ours)."""

        def ask(view: JobView) -> AnyEvent:
            if view.hold is None:
                raise Conflict(
                    "The job is not held by dispatch.",
                    todo="`dispatch show --why` tells what it waits for; holds of others are theirs to release.",
                )
            return ReleaseAsked(instance=view.hold.instance, by=self.ledger.actor.user)

        return self._ask(job, "released", ask)

    def _ask(self, job: str, what: str, ask: Callable[[JobView], AnyEvent | None]) -> JobView:
        while True:
            view = self.ledger.view(job)
            if view.verdict is not None:
                raise Finished(
                    f"The job has ended ({view.verdict.cause or view.verdict.state}); it cannot be {what}."
                )
            event = ask(view)
            if event is None:
                return view
            if (after := self.ledger.append(view, (event,))) is not None:
                return after


def check_job(job: Job, checker: Checker) -> None:
    """Refuse a job of which no object can be made, now or after the changes of one of its rules. Raises ``Invalid``."""
    faults = _faults_of(checker, lambda: job)
    rules = job.policy.rules if job.policy else ()
    for index, rule in enumerate(rules):
        if (changes := rule.with_) is not None:
            later = _faults_of(checker, partial(changed_job, job, changes))
            where = f"recovery.rules[{index}].with."
            faults += [
                replace(fault, path=where + fault.path) for fault in later if fault not in faults
            ]
    if faults:
        count = "one fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise Invalid(f"The job {job.name!r} has {count}.", faults=tuple(faults))


def _faults_of(checker: Checker, make: Callable[[], Job]) -> list[Fault]:
    try:
        checker.check(make())
    except Invalid as error:
        return list(error.faults) or [
            Fault(path="the job", found="what cannot be used", allowed=error.what)
        ]
    return []


def _submitted(begun: Begun | DispatchError, spec_hash: str) -> Submitted | DispatchError:
    if isinstance(begun, DispatchError):
        return begun
    view, summary = begun
    # No view: the key was known, or another process was faster with it.
    return (
        _same(summary, spec_hash)
        if view is None
        else Submitted(id=view.id, created=True, summary=summary)
    )


def _same(existing: Summary, spec_hash: str) -> Submitted:
    if existing.spec_hash != spec_hash:
        raise Conflict(
            f"The key {existing.key!r} belongs to job {existing.id}, which has another spec.",
            todo="Submit the very same file, or choose another key. `dispatch show` prints the other job's spec.",
        )
    return Submitted(id=existing.id, created=False, summary=existing)
