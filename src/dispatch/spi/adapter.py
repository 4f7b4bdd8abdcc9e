"""What an adapter implements: the base protocol, and those optional ones that its scheduler can honour.

An adapter only translates. It takes no decision about recovery, keeps no durable state, and starts no background work.
Every method may raise ``Unavailable`` (reads and undelivered writes: nothing happened) and, for a write that left,
``OutcomeUnknown``. All other errors are named with the method.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol, runtime_checkable

from dispatch.model.answers import Answers, ClusterIdentity, Declarations
from dispatch.model.base import Instant, Value
from dispatch.model.errors import DispatchError
from dispatch.model.job import Job
from dispatch.model.plan import Plan
from dispatch.model.policy import Policy
from dispatch.model.status import NodeReport, Observation


class CallMeta(Value):
    """What every write carries. A call whose command starts after ``deadline`` does nothing and raises ``Expired``.

    The deadline is compared where the command runs, on that host's clock. ``opened`` says that the record knows of an Open of
    the object that has landed: a gate that a release finds beneath its hold is then none, but somebody else's hold.
    """

    deadline: Instant
    opened: bool = False


class HoldMeta(CallMeta, kw_only=True):
    """A hold: its instance, and who wants it until when and why, where the scheduler can keep that."""

    instance: int
    by: str = ""
    until: Instant | None = None
    why: str = ""


class StartOrder(Value):
    """One object to create, gated.

    ``job`` has the policy's changes applied. ``base`` is the begin time of the gate in Unix seconds (hold instance I is
    ``base + I``). ``attempt`` is unique to this start. ``exclude`` are nodes it must not run on. ``native`` is what a
    ``NativePolicyCompiler`` of the same backend made of the plan.
    """

    id: str
    job: Job
    spec_hash: str
    store: str
    submission: int
    attempt: str
    base: int
    exclude: tuple[str, ...] = ()
    native: dict[str, str] = {}


class Reading(Value):
    """One answered read: all objects of the jobs that were asked for, whoever's store made them.

    ``sent`` is the clock of the host where the command ran, taken before it read. ``boot`` is the controller's
    incarnation, the same before and after the read.
    """

    sent: Instant
    boot: str
    observations: tuple[Observation, ...] = ()


class OutputPlace(Value):
    """Whose output to read: the job with its changes, and the execution."""

    id: str
    job: Job
    submission: int
    restarts: int


class Backend(Protocol):
    """An open cluster. ``answers`` and ``declarations`` are fixed for as long as it is open."""

    @property
    def identity(self) -> ClusterIdentity:
        """Which cluster this is, by the name that it gives itself."""
        ...

    @property
    def answers(self) -> Answers:
        """What it can do."""
        ...

    @property
    def declarations(self) -> Declarations:
        """The bounds and windows of this cluster."""
        ...

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        """Create a gated object and return its ref, after reading it back.

        Raises ``Rejected`` (refused for good; nothing is left behind), ``Busy`` (refused for now), ``Expired``.
        """
        ...

    async def open(self, ref: str, meta: CallMeta) -> None:
        """Lift the gate of exactly this object; a hold on it survives.

        Raises ``Finished`` (it has ended), ``NotFound``, ``Conflict`` (an administrator holds it), ``Expired``.
        """
        ...

    async def stop(self, ref: str, meta: CallMeta) -> None:
        """End exactly this object for good; one that has ended already is no error. Raises ``NotFound``, ``Expired``."""
        ...

    async def find(self, job: str, known: Sequence[str] = ()) -> Reading:
        """Read every object of the job, ended ones included for as long as the scheduler knows them.

        That is each that carries the job's name, and each that one of the ``known`` refs means, whatever a person has
        called it since.
        """
        ...

    async def inspect(self, ref: str) -> Observation:
        """Read one object. Raises ``NotFound``; that is no proof that it never was."""
        ...

    async def close(self) -> None:
        """Let go of everything; a second close does nothing."""
        ...


@runtime_checkable
class Holder(Protocol):
    """Can hold a pending object and release exactly that hold."""

    async def hold(self, ref: str, meta: HoldMeta) -> None:
        """Keep a pending object from starting. Raises ``Conflict`` (it is not pending), ``Finished``, ``Expired``."""
        ...

    async def release(self, ref: str, instance: int, meta: CallMeta) -> None:
        """Lift the hold of that instance, no other; what is gated stays gated, and what others hold stays held.

        Raises ``Conflict`` (another hold; or, on what has been opened, somebody else's hold on which this one cannot be
        told from a gate: nothing is changed), ``Finished``, ``Expired``.
        """
        ...


@runtime_checkable
class Requeuer(Protocol):
    """Can run an ended object again in place, with a requeue bit that it borrows for that."""

    async def requeue(self, ref: str, meta: CallMeta) -> None:
        """Bring an ended object back to pending, ungated, its restart count raised; the requeue bit is restored either way.

        Raises ``Conflict`` (it has not ended), ``Finished`` (it can never run again), ``NotFound``, ``Expired``,
        ``Unsupported``.
        """
        ...

    async def restore_requeue_bit(self, ref: str, meta: CallMeta) -> None:
        """Clear a requeue bit that was left set, so that the scheduler runs nothing again on its own authority.

        Raises ``Finished`` (an ended object refuses the update), ``NotFound``, ``Expired``, ``Unsupported``.
        """
        ...


@runtime_checkable
class NativePolicyCompiler(Protocol):
    """Can turn the rules that its scheduler carries out itself into the scheduler's own settings."""

    def compile_native(self, policy: Policy, plan: Plan) -> dict[str, str]:
        """Give what ``StartOrder.native`` must say, so that the scheduler carries out the rules planned for it.

        Empty where the plan leaves it none. Raises ``Unsupported`` where such a rule cannot be expressed.
        """
        ...


class Watch(Protocol):
    """A stream of observations; it ends, rather than dropping one, and whoever watches then subscribes again."""

    def __aiter__(self) -> AsyncIterator[Observation]:
        """Itself."""
        ...

    async def __anext__(self) -> Observation:
        """Wait for the next observation; ``StopAsyncIteration`` once it is closed and read to its end."""
        ...

    async def close(self) -> None:
        """End the stream; a second close does nothing."""
        ...


@runtime_checkable
class Watcher(Protocol):
    """Can tell of changes as they happen."""

    async def watch(self) -> Watch:
        """Subscribe: first comes the current observation of every object of a job, then each change in its order.

        The buffer of changes is bounded. One that is full, a cancelled wait, and ``close`` of the stream or of the
        backend end the stream. Raises ``Unsupported`` where this cluster cannot be watched.
        """
        ...


@runtime_checkable
class IdentityWeakener(Protocol):
    """Can tell when a ref may no longer single out one object: ids that wrap, times that are cut to the second."""

    async def weakness(self, ref: str) -> str | None:
        """Say why the scheduler's own identity behind the ref means another object too by now; ``None`` where it does not."""
        ...


@runtime_checkable
class Checker(Protocol):
    """Can tell without asking its scheduler that no object can be made of a job."""

    def check(self, job: Job) -> None:
        """Raise ``Invalid`` with every fault of the job that ``start`` would refuse whatever the cluster's state."""
        ...


@runtime_checkable
class MultiFinder(Protocol):
    """Can read many jobs in one call."""

    async def find_many(self, jobs: Sequence[str], known: Sequence[str] = ()) -> Reading:
        """Read every object of these jobs; the same as one ``find`` each, under one boot.

        ``known`` are the refs that the records of these jobs have.
        """
        ...


@runtime_checkable
class MultiWriter(Protocol):
    """Can make many writes in one call, each as if it were made alone.

    The answers are in the order of what was asked for: what the write returns, or the error that it raises alone. A fault
    of one never stops the others. The deadline is the same for all and is compared before each of them, where it runs,
    so that of a late call some are made and the others are ``Expired``. What is raised is true of all: ``Expired``, ``Unavailable``,
    ``OutcomeUnknown``, ``ReadOnly``, ``Unsupported``.
    """

    async def start_many(
        self, orders: Sequence[StartOrder], meta: CallMeta
    ) -> Sequence[str | DispatchError]:
        """Create gated objects of different jobs, and give the ref of each; see ``Backend.start``."""
        ...

    async def open_many(
        self, refs: Sequence[str], meta: CallMeta
    ) -> Sequence[DispatchError | None]:
        """Lift the gates of exactly these objects, none twice; see ``Backend.open``."""
        ...


class Living(Value):
    """An object that has not ended, as a listing of the whole account tells it: its ref, and what its key says."""

    ref: str
    job: str
    store: str


@runtime_checkable
class Lister(Protocol):
    """Can list what lives under the account, whatever the records know (12, T1)."""

    async def list_living(self) -> tuple[Living, ...]:
        """List every object of this account that carries a job's name and has not ended, whoever's store made it."""
        ...


@runtime_checkable
class CessationSignal(Protocol):
    """Can tell whether the nodes of an execution respond."""

    async def nodes(self, names: Sequence[str], ref: str) -> tuple[NodeReport, ...]:
        """Read these nodes; with no names, every node on which the object of ``ref`` could have run."""
        ...


@runtime_checkable
class OutputReader(Protocol):
    """Can read the output of a job."""

    async def read_output(self, place: OutputPlace, offset: int, limit: int) -> bytes:
        """Read at most ``limit`` bytes from ``offset``; empty at the end. Raises ``NotFound`` (no output yet)."""
        ...


class AdapterConfig(Value):
    """How to open a backend: the adapter by name, our alias for the cluster, and the adapter's own settings."""

    adapter: str
    alias: str
    settings: dict[str, Any] = {}
    read_only: bool = False


class Factory(Protocol):
    """Opens a backend; registered under an adapter's name in the entry point group ``dispatch.adapters``."""

    async def __call__(self, config: AdapterConfig) -> Backend:
        """Decode the settings strictly (``Invalid`` with every fault), run the preflight, return the backend."""
        ...
