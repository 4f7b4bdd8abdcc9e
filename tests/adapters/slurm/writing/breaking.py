"""An answer that breaks off anywhere: one call is made, and judged again by every beginning of what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import pairwise

from dispatch.adapters.slurm.writing import Writer
from dispatch.model.errors import DispatchError
from dispatch.model.quantity import Duration
from dispatch.spi.transport import Completed
from dispatch.transports import LocalTransport

Act = Callable[[Writer], Awaitable[Sequence[object]]]
"""A write, of one or of many; what came of each."""


class Recorder(LocalTransport):
    """Runs one script, and keeps its mark and what came of it."""

    mark: str
    whole: Completed

    async def run(
        self, script: str, args: Sequence[str] = (), *, stdin: bytes = b"", timeout: Duration
    ) -> Completed:
        self.mark = args[0]
        self.whole = await super().run(script, args, stdin=stdin, timeout=timeout)
        return self.whole


class Cut(LocalTransport):
    """Answers with the beginning of what came of another call, as a connection that broke; the script is not run."""

    def __init__(self, recorder: Recorder, kept: int, *, errors: bool) -> None:
        super().__init__()
        self.mark = recorder.mark.encode()
        self.stdout = recorder.whole.stdout[:kept]
        self.stderr = recorder.whole.stderr if errors else b"Connection reset by peer\n"

    async def run(
        self,
        script: str,  # noqa: ARG002 - it was run before
        args: Sequence[str] = (),
        *,
        stdin: bytes = b"",  # noqa: ARG002
        timeout: Duration,  # noqa: ARG002
    ) -> Completed:
        own = args[0].encode()
        return Completed(
            returncode=255,
            stdout=self.stdout.replace(self.mark, own),
            stderr=self.stderr.replace(self.mark, own),
        )


def writer_by(transport: LocalTransport) -> Writer:
    """A writer that reaches Slurm by it."""
    return Writer(transport, bound=Duration(seconds=10), shared="$HOME/runs")


def told(act: Act, transport: LocalTransport, count: int) -> list[object]:
    """What the call says came of each of so many; an error of all is an error of each."""

    async def call() -> Sequence[object]:
        return await act(writer_by(transport))

    try:
        return list(asyncio.run(call()))
    except DispatchError as error:
        return [error] * count


def judgements(act: Act, count: int = 1) -> tuple[list[object], Iterator[tuple[str, list[object]]]]:
    """What came of each, and what is said of each after every beginning of the answer, with the end of that beginning."""
    recorder = Recorder()
    truth = told(act, recorder, count)

    def cuts() -> Iterator[tuple[str, list[object]]]:
        for kept in beginnings(recorder.whole.stdout):
            for errors in (True, False):
                said = told(act, Cut(recorder, kept, errors=errors), count)
                yield recorder.whole.stdout[:kept][-80:].decode(errors="replace"), said

    return truth, cuts()


def beginnings(answer: bytes) -> list[int]:
    """How much is kept of an answer: to the end of each line, to just before it, and to its middle."""
    ends = [0, *(at + 1 for at, byte in enumerate(answer) if byte == ord("\n"))]
    middles = [(first + last) // 2 for first, last in pairwise(ends)]
    return sorted({*ends, *middles, *(end - 1 for end in ends[1:])} - {len(answer)})
