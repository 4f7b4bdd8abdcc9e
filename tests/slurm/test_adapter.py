"""The Slurm adapter's writes on real clusters."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from msgspec.structs import replace

from dispatch.adapters.slurm import SlurmBackend, factory
from dispatch.adapters.slurm.reading import Ref
from dispatch.model.epoch import ulid
from dispatch.model.errors import (
    Conflict,
    Expired,
    Finished,
    NotFound,
    OutcomeUnknown,
    ReadOnly,
    Rejected,
    Unavailable,
)
from dispatch.model.job import Job, Launcher
from dispatch.model.status import Cause, Gate, HoldSeen, Observation, State
from dispatch.spi.adapter import AdapterConfig, CallMeta, HoldMeta, OutputPlace, StartOrder

if TYPE_CHECKING:
    from lab import Lab

    from .conftest import NewLab

pytestmark = pytest.mark.slurm

T = TypeVar("T")
HOSTILE = (
    "",
    "-n",
    "--",
    "a  b",
    "it's",
    '"$(touch pwned)`touch pwned`"',
    "line\nbreak\n",
    "\\n",
    "*",
    "ñ☃",
    "x" * 100_000,
)


def meta(seconds: float = 60) -> CallMeta:
    return CallMeta(deadline=datetime.now(UTC) + timedelta(seconds=seconds))


def holding(instance: int) -> HoldMeta:
    return HoldMeta(deadline=meta().deadline, instance=instance)


def order_of(*, submission: int = 1, **job: Any) -> StartOrder:
    now = time.time()
    job.setdefault("command", ("true",))
    return StartOrder(
        id=ulid(int(now * 1000), os.urandom(10)), job=Job(**job), spec_hash="0" * 64, store=ulid(0, bytes(10)),
        submission=submission, attempt=os.urandom(4).hex(), base=int(now) + 315_576_000,
    )  # fmt: skip


def on(
    lab: Lab, act: Callable[[SlurmBackend], Coroutine[Any, Any, T]], *, read_only: bool = False
) -> T:
    """Open the cluster as alice, act, and close it."""

    async def run() -> T:
        settings = {"transport": {"kind": "local", "through": [str(lab.login("alice"))]}}
        backend = await factory(
            AdapterConfig(adapter="slurm", alias="lab", settings=settings, read_only=read_only)
        )
        try:
            return await act(backend)
        finally:
            await backend.close()

    return asyncio.run(run())


async def until(
    backend: SlurmBackend, ref: str, condition: Callable[[Observation], bool]
) -> Observation:
    seen = await backend.inspect(ref)
    for _ in range(300):
        if condition(seen):
            return seen
        await asyncio.sleep(0.1)
        seen = await backend.inspect(ref)
    raise AssertionError(f"waited in vain; last seen: {seen.verdict}")


async def to_its_end(backend: SlurmBackend, order: StartOrder) -> tuple[Observation, bytes]:
    ref = await backend.start(order, meta())
    await backend.open(ref, meta())
    seen = await until(backend, ref, lambda seen: seen.state.ended and not seen.cleaning)
    place = OutputPlace(id=order.id, job=order.job, submission=order.submission, restarts=0)
    try:
        return seen, await backend.read_output(place, 0, 1_000_000)
    except NotFound:
        return seen, b""


def ended(backend: SlurmBackend, ref: str) -> Coroutine[Any, Any, Observation]:
    return until(backend, ref, lambda seen: seen.state.ended and not seen.cleaning)


def text_of(lab: Lab, order: StartOrder, name: str) -> str:
    return lab.path(f"/home/alice/.dispatch/runs/{order.id}/{name}").read_text()


@pytest.mark.parametrize("suite", ["forky", "trixie", "bookworm"])
def test_an_object_is_gated_opened_held_released_and_stopped(new_lab: NewLab, suite: str) -> None:
    lab = new_lab(suite=suite)

    async def act(backend: SlurmBackend) -> None:
        order = order_of(command=("sh", "-c", 'echo "$RANK of $WORLD_SIZE"'), nodes=2)
        ref = await backend.start(order, meta())
        seen = await backend.inspect(ref)
        assert (seen.state, seen.cause, seen.gate, seen.requeue) == (
            State.PENDING,
            Cause.GATED,
            Gate.CLOSED,
            False,
        )
        await backend.hold(ref, holding(3))
        await backend.open(ref, meta())
        seen = await backend.inspect(ref)
        assert seen.hold is not None
        assert (seen.gate, seen.hold.instance) == (Gate.OPEN, 3)
        with pytest.raises(Conflict):
            await backend.release(ref, 2, meta())
        await backend.release(ref, 3, meta())
        assert (await ended(backend, ref)).state is State.SUCCEEDED
        with pytest.raises(Finished):
            await backend.open(ref, meta())
        place = OutputPlace(id=order.id, job=order.job, submission=1, restarts=0)
        assert sorted((await backend.read_output(place, 0, 99)).splitlines()) == [
            b"0 of 2",
            b"1 of 2",
        ]
        assert "status=0" in text_of(lab, order, "1000000.end")

        ref = await backend.start(order_of(command=("sleep", "100")), meta())
        await backend.open(ref, meta())
        await until(backend, ref, lambda seen: seen.state is State.RUNNING)
        await backend.stop(ref, meta())
        assert (await ended(backend, ref)).state is State.CANCELLED
        await backend.stop(ref, meta())
        with pytest.raises(Expired):
            await backend.stop(ref, meta(-1))

    on(lab, act)


def test_a_gate_is_lifted_by_open_and_not_by_a_release_of_everything(lab: Lab) -> None:
    async def act(backend: SlurmBackend) -> None:
        ref = await backend.start(order_of(), meta())
        lab.text("alice", "scontrol", "release", str(Ref.parse(ref).number))
        await asyncio.sleep(2)
        assert (await backend.inspect(ref)).state is State.PENDING
        await backend.open(ref, meta())
        assert (await ended(backend, ref)).state is State.SUCCEEDED

    on(lab, act)


def test_a_release_leaves_a_hold_by_hand_and_closes_no_gate(lab: Lab) -> None:
    async def act(backend: SlurmBackend) -> None:
        ref = await backend.start(order_of(), meta())
        await backend.hold(ref, holding(3))
        await backend.open(ref, meta())
        lab.text("alice", "scontrol", "hold", str(Ref.parse(ref).number))
        with pytest.raises(Conflict, match="somebody else"):
            await backend.release(ref, 3, replace(meta(), opened=True))
        lab.text("alice", "scontrol", "release", str(Ref.parse(ref).number))
        seen = await backend.inspect(ref)
        assert (seen.gate, seen.hold) == (Gate.OPEN, HoldSeen(instance=3))
        await backend.release(ref, 3, replace(meta(), opened=True))
        assert (await ended(backend, ref)).state is State.SUCCEEDED

    on(lab, act)


def test_a_hold_by_root_is_never_lifted(lab: Lab) -> None:
    async def act(backend: SlurmBackend) -> None:
        ref = await backend.start(order_of(), meta())
        lab.text("root", "scontrol", "hold", str(Ref.parse(ref).number))
        with pytest.raises(Conflict, match="administrator"):
            await backend.open(ref, meta())
        await backend.stop(ref, meta())

    on(lab, act)


def test_stop_takes_away_a_requeue_bit_that_somebody_set(lab: Lab) -> None:
    async def act(backend: SlurmBackend) -> None:
        ref = await backend.start(order_of(), meta())
        lab.text("alice", "scontrol", "update", f"JobId={Ref.parse(ref).number}", "Requeue=1")
        await backend.stop(ref, meta())
        seen = await backend.inspect(ref)
        assert (seen.state, seen.final, seen.requeue) == (State.CANCELLED, True, False)

    on(lab, act)


def test_hostile_arguments_arrive_byte_for_byte(lab: Lab) -> None:
    async def act(backend: SlurmBackend) -> None:
        command = ("sh", "-c", 'printf "%s\\0" "$@"; ls pwned 2>/dev/null', "-x", *HOSTILE)
        _, output = await to_its_end(
            backend, order_of(command=command, env={"A": "$(touch pwned)"})
        )
        assert output.decode().split("\0")[:-1] == list(HOSTILE)

    on(lab, act)


@pytest.mark.parametrize(
    ("shell", "cause", "code", "name"),
    [
        ("[ $RANK = 1 ] || sleep 60; exit 3", Cause.NON_ZERO_EXIT, 3, None),
        ("[ $RANK = 1 ] || sleep 60; kill -ABRT $$", Cause.SIGNALLED, 134, "ABRT"),
        ("exit 143", Cause.NON_ZERO_EXIT, 143, None),
    ],
)
def test_the_first_rank_that_fails_gives_the_cause(
    lab: Lab, shell: str, cause: Cause, code: int, name: str | None
) -> None:
    async def act(backend: SlurmBackend) -> None:
        seen, _ = await to_its_end(backend, order_of(command=("sh", "-c", shell), nodes=2))
        detail = seen.verdict.detail
        assert (seen.cause, detail.exit_code, detail.signal) == (cause, code, name)

    on(lab, act)


def test_tasks_have_their_places_and_their_cpus(lab: Lab) -> None:
    async def act(backend: SlurmBackend) -> None:
        tell = 'echo "$RANK $LOCAL_RANK $NODE_RANK $WORLD_SIZE $SLURM_CPUS_PER_TASK"'
        order = order_of(
            command=("sh", "-c", tell),
            launcher=Launcher.SRUN,
            nodes=2,
            tasks_per_node=2,
            cpus_per_task=3,
        )
        _, output = await to_its_end(backend, order)
        assert sorted(output.decode().splitlines()) == [
            "0 0 0 4 3",
            "1 1 0 4 3",
            "2 0 1 4 3",
            "3 1 1 4 3",
        ]

    on(lab, act)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("scancel --batch --signal=USR1", "USR1"),
        ("scancel --batch --signal=TERM", "TERM"),
        ("scancel", "TERM"),
    ],
)
def test_the_command_gets_a_signal_once(lab: Lab, command: str, name: str) -> None:
    async def act(backend: SlurmBackend) -> bytes:
        catch = f'trap "echo {name}" {name}; echo up; i=0; while [ $((i += 1)) -lt 30 ]; do sleep 0.1; done'
        order = order_of(command=("sh", "-c", catch))
        ref = await backend.start(order, meta())
        await backend.open(ref, meta())
        place = OutputPlace(id=order.id, job=order.job, submission=1, restarts=0)
        await until(backend, ref, lambda seen: seen.state is State.RUNNING)
        output = lab.path(f"/home/alice/dispatch-{order.id}-1.out")
        for _ in range(100):
            if output.exists() and "up" in output.read_text():
                break
            await asyncio.sleep(0.1)
        lab.text("alice", *command.split(), str(Ref.parse(ref).number))
        await ended(backend, ref)
        return await backend.read_output(place, 0, 9_999)

    assert [line for line in on(lab, act).splitlines() if line == name.encode()] == [name.encode()]


def test_a_missing_working_directory_is_refused_or_a_failed_launch_and_never_made(lab: Lab) -> None:
    async def act(backend: SlurmBackend) -> None:
        with pytest.raises(Rejected, match="working directory"):
            await backend.start(order_of(workdir="/home/alice/gone", output="x/y"), meta())
        order = order_of(
            command=("touch", "ran"), workdir="/home/alice/gone", output="/home/alice/out"
        )
        seen, output = await to_its_end(backend, order)
        assert seen.state is State.FAILED
        assert b"launch failed: the working directory /home/alice/gone cannot be entered" in output

    on(lab, act)
    assert not lab.path("/home/alice/gone").exists()


def test_an_output_pattern_of_ours_is_none_of_slurms(lab: Lab) -> None:
    async def act(backend: SlurmBackend) -> None:
        order = order_of(command=("echo", "hi"), output="logs/%j/%%j %n.%r")
        _, output = await to_its_end(backend, order)
        assert output == b"hi\n"
        assert lab.path(f"/home/alice/logs/{order.id}/%j 1.0").exists()

    on(lab, act)


def test_a_partition_that_is_none_is_refused_for_good(lab: Lab) -> None:
    async def act(backend: SlurmBackend) -> None:
        with pytest.raises(Rejected, match="nosuch"):
            await backend.start(order_of(partition="nosuch"), meta())

    on(lab, act)


def test_a_number_that_slurm_does_not_know_is_not_found(lab: Lab) -> None:
    async def act(backend: SlurmBackend) -> None:
        ref = f"999999:{ulid(1, bytes(10))}:1:1:a"
        for call in (
            backend.open(ref, meta()),
            backend.stop(ref, meta()),
            backend.hold(ref, holding(1)),
        ):
            with pytest.raises(NotFound):
                await call

    on(lab, act)


def test_a_read_only_backend_writes_nothing(lab: Lab) -> None:
    async def act(backend: SlurmBackend) -> None:
        with pytest.raises(ReadOnly):
            await backend.start(order_of(), meta())

    on(lab, act, read_only=True)


PLUGIN = """
function slurm_job_submit(job, parts, uid)
  if job.comment ~= nil and string.find(job.name, "^dj%-") then job.priority = 4711; job.begin_time = 0; job.requeue = 1 end
  return slurm.SUCCESS
end
function slurm_job_modify(job, record, parts, uid) return slurm.SUCCESS end
"""


def test_an_object_that_a_plugin_ungates_is_stopped_and_refused(new_lab: NewLab) -> None:
    lab = new_lab(files={"etc/slurm/job_submit.lua": PLUGIN}, settings={"JobSubmitPlugins": "lua"})

    async def act(backend: SlurmBackend) -> None:
        order = order_of(command=("touch", "ran"))
        with pytest.raises(Rejected, match=r"a plugin of this cluster changed .*begin time"):
            await backend.start(order, meta())
        (seen,) = (await backend.find(order.id)).observations
        assert seen.state.ended

    on(lab, act)
    assert not lab.path("/home/alice/ran").exists()


def test_a_hung_controller_and_a_dead_one_are_told_apart(new_lab: NewLab) -> None:
    lab = new_lab(message_timeout=3)

    async def act(backend: SlurmBackend) -> None:
        ref = await backend.start(order_of(), meta())
        order = order_of()
        lab.kill("slurmctld", signal.SIGSTOP)
        with pytest.raises(OutcomeUnknown):
            await backend.start(order, meta())
        with pytest.raises(Unavailable):
            await backend.open(ref, meta())
        lab.kill("slurmctld", signal.SIGCONT)
        found: tuple[Observation, ...] = ()
        for _ in range(50):
            found = (await backend.find(order.id)).observations
            if found:
                break
            await asyncio.sleep(0.1)
        # It was carried out after all: gated, so it never ran.
        assert [(seen.state, seen.gate) for seen in found] == [(State.PENDING, Gate.CLOSED)]
        lab.kill("slurmctld")
        with pytest.raises(Unavailable):
            await backend.start(order_of(), meta())

    on(lab, act)
