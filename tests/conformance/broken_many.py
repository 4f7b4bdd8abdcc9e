"""Broken adapters whose many writes in one call are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from conformance.breaking import Breakable, broken
from conformance.broken_optional import Unasked
from dispatch.adapters.memory import call_start
from dispatch.model.answers import Capability
from dispatch.model.errors import Busy, DispatchError, OutcomeUnknown, Rejected, Unavailable
from dispatch.spi.adapter import CallMeta, StartOrder

Starts = list[str | DispatchError]
Opens = list[DispatchError | None]


@broken
class StartsBackwards(Breakable):
    """many starts whose refs come in another order"""

    async def start_many(self, orders: Sequence[StartOrder], meta: CallMeta) -> Starts:
        return (await super().start_many(orders, meta))[::-1]


@broken
class StartsUntilOneIsRefused(Breakable):
    """many starts of which none is made after one that was refused"""

    async def start_many(self, orders: Sequence[StartOrder], meta: CallMeta) -> Starts:
        made: Starts = []
        for order in orders:
            if any(isinstance(one, Rejected) for one in made):
                made.append(Busy("Another one was refused."))
            else:
                made += await super().start_many([order], meta)
        return made


@broken
class StartsManyLate(Breakable):
    """many late starts that land"""

    async def start_many(self, orders: Sequence[StartOrder], meta: CallMeta) -> Starts:
        with call_start(meta.deadline):
            return await super().start_many(orders, meta)


@broken
class StartsManyAgain(Breakable):
    """many starts of which one without an answer is made again"""

    async def start_many(self, orders: Sequence[StartOrder], meta: CallMeta) -> Starts:
        answers = await super().start_many(orders, meta)
        for place, answer in enumerate(answers):
            if isinstance(answer, OutcomeUnknown):
                answers[place] = await self.sound().start(orders[place], meta)
        return answers


@broken
class StartsManyUnproven(Unasked):
    """many starts although the gate is not proven"""

    unasked = Capability.GATE

    async def start_many(self, orders: Sequence[StartOrder], meta: CallMeta) -> Starts:
        if self.answers.capability(Capability.GATE).yes:
            return await super().start_many(orders, meta)
        return ["made" for _ in orders]


@broken
class OpensTheSiblings(Breakable):
    """many opens that lift the gates of the jobs' other objects too"""

    async def open_many(self, refs: Sequence[str], meta: CallMeta) -> Opens:
        jobs = {self.item(ref).order.id for ref in refs if not ref.startswith("9")}
        shape = self._world.shape
        others = [shape.ref(item) for item in self._world.objects if item.order.id in jobs]
        answers = await super().open_many(refs, meta)
        with suppress(DispatchError):
            await super().open_many([ref for ref in others if ref not in refs], meta)
        return answers


@broken
class OpensWithOneAnswer(Breakable):
    """many opens which have all the answer of the last"""

    async def open_many(self, refs: Sequence[str], meta: CallMeta) -> Opens:
        answers = await super().open_many(refs, meta)
        return [answers[-1] for _ in answers]


@broken
class OpensManyAnew(Breakable):
    """many opens that start what runs already anew"""

    async def open_many(self, refs: Sequence[str], meta: CallMeta) -> Opens:
        for ref in refs:
            with suppress(DispatchError):
                self.env.requeue_externally(ref)
        return await super().open_many(refs, meta)


@broken
class OpensManyLate(Breakable):
    """many late opens that land"""

    async def open_many(self, refs: Sequence[str], meta: CallMeta) -> Opens:
        with call_start(meta.deadline):
            return await super().open_many(refs, meta)


@broken
class OpensManyAndReleases(Breakable):
    """many opens that lift holds too"""

    async def open_many(self, refs: Sequence[str], meta: CallMeta) -> Opens:
        answers = await super().open_many(refs, meta)
        for ref in refs:
            with suppress(DispatchError):
                seen = await self.sound().inspect(ref)
                if seen.hold is not None and seen.hold.instance is not None:
                    await self.sound().release(ref, seen.hold.instance, meta)
        return answers


@broken
class ForgetsTheSecondChunk(Breakable):
    """many opens of which only those of one script are made"""

    async def open_many(self, refs: Sequence[str], meta: CallMeta) -> Opens:
        first = await super().open_many(refs[:25], meta)
        return [*first, *(None for _ in refs[25:])]


@broken
class OpensAllForNone(Breakable):
    """opens of none that open everything"""

    async def open_many(self, refs: Sequence[str], meta: CallMeta) -> Opens:
        if refs:
            return await super().open_many(refs, meta)
        everything = [self._world.shape.ref(item) for item in self._world.objects]
        await super().open_many(everything, meta)
        return []


@broken
class WritesManyOfAnAbsentCluster(Breakable):
    """many starts that say Busy of a cluster that cannot be seen"""

    async def start_many(self, orders: Sequence[StartOrder], meta: CallMeta) -> Starts:
        answers = await super().start_many(orders, meta)
        busy = Busy("Nobody is there.")
        return [busy if isinstance(one, Unavailable) else one for one in answers]


@broken
class WritesManyAllTheSame(Breakable):
    """many writes that are made although only reading was asked for"""

    async def start_many(self, orders: Sequence[StartOrder], meta: CallMeta) -> Starts:
        return await self.writing().start_many(orders, meta)
