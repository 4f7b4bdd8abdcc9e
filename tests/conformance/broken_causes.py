"""Broken adapters that tell a wrong cause, or wrong things of nodes."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from conformance.breaking import Breakable, broken, detail, instead, verdict
from dispatch.model.errors import NotFound
from dispatch.model.status import By, Cause, NodeReport, Observation, State, Verdict

ACCOUNTING = {"capabilities": {"AccountingHistory": {"value": "yes", "source": "probed"}}}


@broken
class DoubtsASuccess(Breakable):
    """a success that is not proven"""

    def show(self, seen: Observation) -> Observation:
        return verdict(seen, proven=False) if seen.state is State.SUCCEEDED else seen


@broken
class LosesTheCode(Breakable):
    """an end without its exit code"""

    def show(self, seen: Observation) -> Observation:
        return detail(seen, exit_code=None) if seen.cause is Cause.NON_ZERO_EXIT else seen


@broken
class TakesAHintForProof(Breakable):
    """an exit with 137 that is taken for a kill for memory"""

    def show(self, seen: Observation) -> Observation:
        hinted = seen.verdict.detail.suspected is Cause.OUT_OF_MEMORY
        return verdict(seen, cause=Cause.OUT_OF_MEMORY) if hinted else seen


@broken
class NamesSignalsOtherwise(Breakable):
    """a signal that is named with SIG"""

    def show(self, seen: Observation) -> Observation:
        signal = seen.verdict.detail.signal
        return detail(seen, signal=f"SIG{signal}") if signal else seen


def turned(sentence: str, cause: Cause, given: Verdict) -> type[Breakable]:
    """Make an adapter that shows another verdict in place of one cause."""

    class Turned(Breakable):
        def show(self, seen: Observation) -> Observation:
            if seen.cause is not cause or not seen.started:
                return seen
            return instead(seen, replace(given, evidence=seen.verdict.evidence))

    Turned.__doc__ = sentence
    return broken(Turned)


FAILED = Verdict(state=State.FAILED, cause=Cause.NON_ZERO_EXIT)
turned("a kill for memory that reads as a signal", Cause.OUT_OF_MEMORY, FAILED)
turned("a time limit that reads as a plain failure", Cause.TIMEOUT, FAILED)
turned("a preemption that reads as a plain failure", Cause.PREEMPTED, FAILED)
turned("a failed launch that reads as the program's failure", Cause.LAUNCH_FAILED, FAILED)
turned("a lost node that reads as a plain failure", Cause.NODE_LOST, FAILED)


@broken
class FailsTheCancelled(Breakable):
    """a cancellation that reads as a failure"""

    def show(self, seen: Observation) -> Observation:
        ran = seen.state is State.CANCELLED and seen.started is not None
        return verdict(seen, state=State.FAILED) if ran else seen


@broken
class OursIsTheirs(Breakable):
    """a stop of ours that reads as an administrator's"""

    settings = ACCOUNTING

    def show(self, seen: Observation) -> Observation:
        by = By.ADMINISTRATOR if seen.state is State.CANCELLED else None
        return detail(seen, by=by)


@broken
class NamelessNode(Breakable):
    """a lost node without a name"""

    def show(self, seen: Observation) -> Observation:
        return detail(seen, nodes=()) if seen.cause is Cause.NODE_LOST else seen


@broken
class ForgetsTheNodes(Breakable):
    """an end that forgets on which nodes it ran"""

    def show(self, seen: Observation) -> Observation:
        return replace(seen, nodes=()) if seen.state.ended else seen


@broken
class InventsASuccess(Breakable):
    """a cause that is invented after the evidence went"""

    last: Observation | None = None

    async def inspect(self, ref: str) -> Observation:
        try:
            self.last = await super().inspect(ref)
        except NotFound:
            if self.last is None or self.last.ref != ref or not self.last.state.ended:
                raise
            return verdict(self.last, state=State.SUCCEEDED, cause=None)
        return self.last


@broken
class BareEvidence(Breakable):
    """evidence that does not say where it was read"""

    def show(self, seen: Observation) -> Observation:
        bare = tuple(replace(piece, field="") for piece in seen.verdict.evidence)
        return verdict(seen, evidence=bare)


# ----------------------------------------------------------------------------- nodes


@broken
class NobodyResponds(Breakable):
    """nodes that never respond"""

    async def nodes(self, names: Sequence[str], ref: str) -> tuple[NodeReport, ...]:
        reports = await super().nodes(names, ref)
        return tuple(replace(one, responding=False) for one in reports)


@broken
class EverybodyResponds(Breakable):
    """nodes that always respond"""

    async def nodes(self, names: Sequence[str], ref: str) -> tuple[NodeReport, ...]:
        reports = await super().nodes(names, ref)
        return tuple(replace(one, responding=True) for one in reports)


@broken
class NoNamesNoNodes(Breakable):
    """nodes of unknown name that are none"""

    async def nodes(self, names: Sequence[str], ref: str) -> tuple[NodeReport, ...]:
        return await super().nodes(names, ref) if names else ()
