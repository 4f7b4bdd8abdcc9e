"""Many writes in one script on real clusters: each as if it were made alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dispatch.adapters.slurm import SlurmBackend
from dispatch.adapters.slurm.reading import Ref
from dispatch.model.errors import Conflict, DispatchError, Expired, Finished, NotFound, Rejected
from dispatch.model.status import Cause, Gate, State
from dispatch.spi.adapter import StartOrder
from lab import Lab

from .conftest import NewLab
from .test_adapter import HOSTILE, ended, meta, on, order_of

pytestmark = pytest.mark.slurm


async def made(backend: SlurmBackend, *orders: StartOrder) -> list[str]:
    refs = await backend.start_many(orders, meta())
    assert all(isinstance(ref, str) for ref in refs), refs
    return [ref for ref in refs if isinstance(ref, str)]


def kinds(answers: Sequence[object]) -> list[object]:
    return [type(one) if isinstance(one, DispatchError) else None for one in answers]


@pytest.mark.parametrize("suite", ["forky", "trixie", "bookworm"])
def test_many_are_created_gated_and_opened_whatever_befalls_some(
    new_lab: NewLab, suite: str
) -> None:
    lab = new_lab(suite=suite)

    async def act(backend: SlurmBackend) -> None:
        good = [order_of() for _ in range(27)]
        refused = order_of(partition="nosuch")
        nowhere = order_of(workdir="/home/alice/gone", output="x")
        hostile = order_of(
            command=("sh", "-c", 'printf "%s\\0" "$@"', "-x", *HOSTILE),
            output="it's $(touch pwned) %%j/%j.out",
        )
        last = order_of(command=("echo", "last"))
        orders = [*good[:9], refused, nowhere, *good[9:], hostile, last]
        answers = await backend.start_many(orders, meta())
        assert kinds(answers) == [
            Rejected if order in (refused, nowhere) else None for order in orders
        ]
        refs = [one for one in answers if isinstance(one, str)]
        seen = (await backend.find_many([order.id for order in orders])).observations
        assert sorted(one.ref for one in seen) == sorted(refs)
        assert {(one.state, one.cause, one.gate, one.requeue) for one in seen} == {
            (State.PENDING, Cause.GATED, Gate.CLOSED, False)
        }

        over, administered, marked, unknown = (
            refs[3],
            refs[5],
            refs[20],
            "999999:" + refs[7].split(":", 1)[1],
        )
        await backend.stop(over, meta())
        lab.text("root", "scontrol", "hold", str(Ref.parse(administered).number))
        lab.text("alice", "scontrol", "update", f"JobId={Ref.parse(marked).number}", "Comment=mine")
        asked = [*refs, unknown]
        errors = {over: Finished, administered: Conflict, marked: Conflict, unknown: NotFound}
        assert kinds(await backend.open_many(asked, meta())) == [errors.get(ref) for ref in asked]
        for ref in refs:
            if ref not in errors:
                assert (await ended(backend, ref)).state is State.SUCCEEDED
        assert (await backend.inspect(administered)).state is State.PENDING
        number = str(Ref.parse(marked).number)
        shown = lab.text("alice", "scontrol", "show", "job", number)
        assert "Priority=0 " in shown
        assert "JobState=PENDING" in shown
        written = lab.path(f"/home/alice/it's $(touch pwned) %j/{hostile.id}.out").read_bytes()
        assert written.decode().split("\0")[:-1] == list(HOSTILE)
        assert lab.path(f"/home/alice/dispatch-{last.id}-1.out").read_text() == "last\n"
        assert not lab.path("/home/alice/pwned").exists()

    on(lab, act)


def test_many_that_come_too_late_do_nothing(lab: Lab) -> None:
    async def act(backend: SlurmBackend) -> None:
        orders = [order_of() for _ in range(3)]
        with pytest.raises(Expired):
            await backend.open_many(await made(backend, *orders), meta(-1))
        late = [order_of() for _ in range(3)]
        assert kinds(await backend.start_many(late, meta(-1))) == [Expired] * 3
        assert not (await backend.find_many([order.id for order in late])).observations
        seen = (await backend.find_many([order.id for order in orders])).observations
        assert {one.gate for one in seen} == {Gate.CLOSED}

    on(lab, act)


def test_of_many_those_begin_that_are_before_the_deadline(lab: Lab) -> None:
    """Each is made, or has expired and left nothing."""

    async def act(backend: SlurmBackend) -> None:
        orders = [order_of() for _ in range(50)]
        answers = await backend.start_many(orders, meta(0.25))
        assert set(kinds(answers)) <= {None, Expired}
        assert kinds(answers)[-1] is Expired
        seen = (await backend.find_many([order.id for order in orders])).observations
        assert sorted(one.ref for one in seen) == sorted(
            one for one in answers if isinstance(one, str)
        )

    on(lab, act)
