"""The one writer to schedulers: slot, intent, call, outcome.

The order is the protocol (12, O7). The concurrency slot is taken first, since an intent that waits for one would expire
in the queue. The intent is then recorded by compare-and-set; who wins has the only right to make the call, until the
deadline. A process that was paused between the two is stopped by the deadline, here and where the command runs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from msgspec.structs import replace

from dispatch.model.errors import DispatchError, Unsupported
from dispatch.model.journal import Intended, Intent, Outcome, Settled, Verb
from dispatch.model.status import Listing
from dispatch.model.steps import Call
from dispatch.model.view import JobView, Phase
from dispatch.shell.batch import Batch, Wanted, chunks_of
from dispatch.shell.intents import cluster_time, intend, late, longest, order_of, outcome_of
from dispatch.shell.ledger import Ledger
from dispatch.spi.adapter import Backend, CallMeta, Holder, HoldMeta, MultiWriter

__all__ = ["Wanted", "Writer", "intend"]

log = logging.getLogger("dispatch.acting")


class Writer:
    """Makes the calls of one cluster, at most ``slots`` at once."""

    def __init__(self, ledger: Ledger, backend: Backend, slots: asyncio.Semaphore) -> None:
        self.ledger = ledger
        self.backend = backend
        self.slots = slots

    async def make_all(self, wanted: Sequence[Wanted]) -> dict[str, Exception]:
        """Make the calls of one round, a job's at most one; returns the faults by job. None of them stops the others.

        The starts go together, and so do the opens, where the backend can make many writes in one call.
        """
        faults: dict[str, Exception] = {}
        await asyncio.gather(*(self._make_some(some, faults) for some in self._shared_out(wanted)))
        return faults

    def _shared_out(self, wanted: Sequence[Wanted]) -> list[Sequence[Wanted]]:
        """What is called together."""
        several: dict[Verb, list[Wanted]] = {Verb.START: [], Verb.OPEN: []}
        alone: list[Sequence[Wanted]] = []
        for one in wanted:
            if isinstance(self.backend, MultiWriter) and one.call.verb in several:
                several[one.call.verb].append(one)
            else:
                alone.append((one,))
        return [*alone, *(chunk for same in several.values() for chunk in chunks_of(same))]

    async def _make_some(self, some: Sequence[Wanted], faults: dict[str, Exception]) -> None:
        if len(some) > 1:
            await Batch(self, some, faults).make()
            return
        for one in some:
            try:
                await self.make(one.view, one.call, one.listing)
            except Exception as error:  # noqa: BLE001 - the engine tells it by its kind
                faults[one.view.id] = error

    async def make(self, view: JobView, call: Call, listing: Listing) -> JobView | None:
        """Make the call that was decided on this view and listing.

        Returns the view with its outcome, with the intent still open where the outcome is not known, or ``None`` where
        another writer was there first and nothing was called.
        """
        async with self.slots:
            now = self.ledger.clock.now()
            intent = intend(view, call, listing, now)
            intended = self.ledger.append(view, (Intended(intent=intent),))
            if intended is None:
                return None
            settled = await self._call(intended, intent, listing)
            return intended if settled is None else self.record(intended, settled)

    async def _call(self, view: JobView, intent: Intent, listing: Listing) -> Settled | None:
        """Make the call; ``None`` where its outcome is not known."""
        if cluster_time(listing, self.ledger.clock.now()) > intent.deadline:
            return late(intent)
        declared = view.header.declarations
        try:
            async with asyncio.timeout(longest(declared)):
                ref = await self._perform(view, intent, listing)
        except DispatchError as error:
            return outcome_of(intent, error, self.ledger.clock.now())
        except TimeoutError:
            log.warning("job %s: no answer to %s within its bound", view.id, intent.verb)
            return None
        except Exception:
            # Whatever went wrong, the call may have left: only reading back can tell.
            log.exception(
                "job %s: %s failed in an unforeseen way; it is read back", view.id, intent.verb
            )
            return None
        return Settled(intent=intent.id, outcome=Outcome.LANDED, ref=ref)

    async def _perform(self, view: JobView, intent: Intent, listing: Listing) -> str | None:
        backend, ref = self.backend, intent.ref or ""
        meta = CallMeta(deadline=intent.deadline)
        match intent.verb:
            case Verb.START:
                return await backend.start(order_of(view, intent, listing), meta)
            case Verb.OPEN:
                await backend.open(ref, meta)
            case Verb.STOP:
                await backend.stop(ref, meta)
            case Verb.HOLD:
                hold = view.hold
                await _holder(backend).hold(
                    ref,
                    HoldMeta(
                        deadline=intent.deadline,
                        instance=intent.instance or 0,
                        by=hold.by if hold else "",
                        until=hold.until if hold else None,
                        why=hold.why if hold else "",
                    ),
                )
            case Verb.RELEASE:
                known = view.objects.get(intent.submission)
                opened = known is not None and known.phase is Phase.OPEN
                meta = replace(meta, opened=opened)
                await _holder(backend).release(ref, intent.instance or 0, meta)
        return ref

    def record(self, view: JobView, settled: Settled) -> JobView | None:
        """Append the outcome, on whatever version the record has by now; what is learnt late is appended too (R4)."""
        while True:
            after = self.ledger.append(view, (settled,))
            if after is not None:
                return after
            view = self.ledger.view(view.id)
            if view.verdict is not None:
                return view


def _holder(backend: Backend) -> Holder:
    if not isinstance(backend, Holder):
        raise Unsupported(f"The adapter {backend.identity.adapter} cannot hold jobs.")
    return backend
