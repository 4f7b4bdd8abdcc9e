"""An open Slurm cluster: each method is one script, run where Slurm's commands are."""

from __future__ import annotations

from collections.abc import Sequence

from dispatch.adapters.slurm.jobscript import output_path
from dispatch.adapters.slurm.reading import (
    ReadSettings,
    Ref,
    list_living,
    read_jobs,
    read_nodes,
)
from dispatch.adapters.slurm.writing import Writer
from dispatch.adapters.slurm.writing.checking import check_job
from dispatch.adapters.slurm.writing.many import open_many, start_many
from dispatch.model.answers import Answers, ClusterIdentity, Declarations
from dispatch.model.errors import DispatchError, NotFound, OutcomeUnknown, ReadOnly, Unavailable
from dispatch.model.job import Job
from dispatch.model.quantity import Duration
from dispatch.model.status import NodeReport, Observation
from dispatch.spi.adapter import CallMeta, HoldMeta, Living, OutputPlace, Reading, StartOrder
from dispatch.spi.transport import Transport

_OUTPUT_BOUND = Duration(seconds=20)
_NO_OUTPUT = 44

_READ_OUTPUT = f"""
case $1 in '~') path=$HOME ;; '~/'*) path=$HOME/${{1#??}} ;; /*) path=$1 ;; *) path=$HOME/$1 ;; esac
[ -f "$path" ] || exit {_NO_OUTPUT}
tail -c "+$2" -- "$path" | head -c "$3"
"""


class SlurmBackend:
    """A Slurm cluster: ``Backend`` with ``Holder``, ``MultiFinder``, ``MultiWriter``, ``Lister``, ``CessationSignal``, ``OutputReader``, ``Checker``.

    Made by ``open_slurm``, which knows the cluster's answers. It keeps no state but the transport.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        identity: ClusterIdentity,
        answers: Answers,
        declarations: Declarations,
        writer: Writer,
        reading: ReadSettings,
        read_only: bool = False,
    ) -> None:
        self._transport = transport
        self._identity = identity
        self._answers = answers
        self._declarations = declarations
        self._writer = writer
        self._reading = reading
        self._read_only = read_only

    def __repr__(self) -> str:
        mode = " read-only" if self._read_only else ""
        return f"<SlurmBackend {self._identity.alias} ({self._identity.name}, {self._identity.version}){mode}>"

    @property
    def identity(self) -> ClusterIdentity:
        """Which cluster this is, by its ClusterName."""
        return self._identity

    @property
    def answers(self) -> Answers:
        """What it can do."""
        return self._answers

    @property
    def declarations(self) -> Declarations:
        """The bounds and windows, from the cluster's configuration."""
        return self._declarations

    def check(self, job: Job) -> None:
        """Refuse a job of which no object can be made; see ``Checker.check``."""
        check_job(job, self._reading.shared)

    async def start(self, order: StartOrder, meta: CallMeta) -> str:
        """Create a gated object, named ``dj-<ULID>``, and return its ref; see ``Backend.start``."""
        return str(await self._write("start").start(order, meta))

    async def start_many(
        self, orders: Sequence[StartOrder], meta: CallMeta
    ) -> list[str | DispatchError]:
        """Create gated objects by one script; see ``MultiWriter.start_many``."""
        made = await start_many(self._write("start"), orders, meta)
        return [one if isinstance(one, DispatchError) else str(one) for one in made]

    async def open_many(self, refs: Sequence[str], meta: CallMeta) -> list[DispatchError | None]:
        """Lift exactly these gates by one script; see ``MultiWriter.open_many``."""
        return await open_many(self._write("open"), [Ref.parse(ref) for ref in refs], meta)

    async def open(self, ref: str, meta: CallMeta) -> None:
        """Lift the gate of exactly this object; see ``Backend.open``."""
        await self._write("open").open(Ref.parse(ref), meta)

    async def stop(self, ref: str, meta: CallMeta) -> None:
        """End exactly this object for good; see ``Backend.stop``."""
        await self._write("stop").stop(Ref.parse(ref), meta)

    async def hold(self, ref: str, meta: HoldMeta) -> None:
        """Place the hold of ``meta.instance``; see ``Holder.hold``. Slurm keeps neither who, nor until when, nor why."""
        await self._write("hold").hold(Ref.parse(ref), meta.instance, meta)

    async def release(self, ref: str, instance: int, meta: CallMeta) -> None:
        """Lift the hold of that instance, no other; see ``Holder.release``."""
        await self._write("release").release(Ref.parse(ref), instance, meta)

    async def find(self, job: str, known: Sequence[str] = ()) -> Reading:
        """Read every object of the job; see ``Backend.find``."""
        return await self.find_many((job,), known)

    async def find_many(self, jobs: Sequence[str], known: Sequence[str] = ()) -> Reading:
        """Read every object of these jobs in one listing; see ``MultiFinder.find_many``."""
        return await read_jobs(self._transport, jobs, self._reading, known)

    async def inspect(self, ref: str) -> Observation:
        """Read one object. Raises ``NotFound``; that is no proof that it never was."""
        reading = await self.find(Ref.parse(ref).job, (ref,))
        for seen in reading.observations:
            if seen.ref == ref:
                return seen
        raise NotFound(
            f"Slurm shows no object {ref}.",
            todo="It may have been purged; the record has what was seen of it.",
        )

    async def list_living(self) -> tuple[Living, ...]:
        """List what lives under this account; see ``Lister.list_living``."""
        return await list_living(self._transport, self._reading)

    async def nodes(self, names: Sequence[str], ref: str) -> tuple[NodeReport, ...]:
        """Read whether these nodes respond; see ``CessationSignal.nodes``."""
        return await read_nodes(self._transport, names, ref, self._reading)

    async def read_output(self, place: OutputPlace, offset: int, limit: int) -> bytes:
        """Read the job's output file as the submitting host sees it; see ``OutputReader.read_output``."""
        path = output_path(place.job, ulid=place.id, submission=place.submission)
        args = [path, str(offset + 1), str(limit)]
        try:
            done = await self._transport.run(_READ_OUTPUT, args, timeout=_OUTPUT_BOUND)
        except OutcomeUnknown as error:
            # A read that may have run has changed nothing.
            raise Unavailable(
                f"The output {path} could not be read: {error.what}", todo=error.todo
            ) from error
        if done.returncode == _NO_OUTPUT:
            raise NotFound(
                f"There is no output {path} yet.", todo="It is made when the job starts."
            )
        if done.returncode != 0 or (done.stderr and not done.stdout):
            raise Unavailable(
                f"The output {path} could not be read: {done.err.strip()}",
                todo="See its permissions.",
            )
        return done.stdout

    async def close(self) -> None:
        """Let go of the transport."""
        await self._transport.close()

    def _write(self, verb: str) -> Writer:
        if self._read_only:
            raise ReadOnly(
                f"Cannot {verb}: the cluster {self._identity.alias} was opened read-only.",
                todo="Open it again without read-only.",
            )
        return self._writer
