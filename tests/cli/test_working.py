"""Ctrl-C while jobs are driven: after the call at hand, or at once when pressed twice."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

import pytest

from cli.bench import Bench
from dispatch.adapters.memory import MemoryBackend
from dispatch.cli.exits import Exit
from dispatch.model.view import Phase
from dispatch.spi.adapter import AdapterConfig, CallMeta, StartOrder


def press(times: int) -> None:
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGINT)


async def turns(number: int) -> None:
    """Let the loop turn so often: a signal is handled in a turn."""
    for _ in range(number):
        await asyncio.sleep(0)


@pytest.fixture
def starting(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Presses Ctrl-C so often in the midst of a start."""

    def arrange(times: int) -> None:
        async def opened(config: AdapterConfig) -> MemoryBackend:
            backend = await bench.open(config)
            really = backend.start

            async def start(order: StartOrder, meta: CallMeta) -> str:
                for _ in range(times):
                    press(1)
                    await turns(50)
                return await really(order, meta)

            monkeypatch.setattr(backend, "start", start)
            return backend

        monkeypatch.setattr("dispatch.shell.clusters.open_backend", opened)

    return arrange


def test_ctrl_c_finishes_the_call_at_hand(bench: Bench, starting: Callable[[int], None]) -> None:
    starting(1)
    before = bench.clock.now()
    said = bench.run("submit", "train.yaml", "--wait")
    assert said.code == Exit.INTERRUPTED
    assert "finishing the call that is under way" in said.err
    view = bench.view(said.out.split()[1])
    assert view.intents == ()
    assert view.current is not None
    assert view.current.phase is Phase.OPEN
    assert bench.clock.now() == before, "it went on to wait for the next look"


def test_a_second_ctrl_c_leaves_at_once_and_the_record_knows_of_the_call(
    bench: Bench, starting: Callable[[int], None]
) -> None:
    starting(2)
    said = bench.run("submit", "train.yaml", "--wait")
    assert said.code == Exit.INTERRUPTED
    view = bench.view(said.out.split()[1])
    assert [known.intent.verb for known in view.intents] == ["start"]
    assert "Traceback" not in said.err


def test_ctrl_c_while_nothing_happens_leaves_at_once(bench: Bench) -> None:
    job = bench.submit()
    bench.clock.after(20, lambda: press(1))
    for seconds in range(21, 40):
        bench.clock.after(seconds, lambda: None)
    said = bench.run("wait", job, "--timeout", "1d", "--json")
    assert (said.code, said.error["kind"]) == (Exit.INTERRUPTED, "Interrupted")
