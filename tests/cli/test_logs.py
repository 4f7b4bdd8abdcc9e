"""The output of a job, with follow, over its submissions."""

from __future__ import annotations

import asyncio

import pytest

from cli.bench import JOB, Bench
from dispatch.adapters.memory import MemoryBackend
from dispatch.cli.commands.logs import Reader
from dispatch.cli.exits import Exit
from dispatch.cli.options import Common
from dispatch.cli.working import open_for
from dispatch.model.errors import NotFound
from dispatch.spi.adapter import AdapterConfig, OutputPlace

Written = dict[int, bytes]


@pytest.fixture
def written(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Written:
    """What each submission has written; the cluster of the bench reads it."""
    outputs: Written = {}

    async def read_output(place: OutputPlace, offset: int, limit: int) -> bytes:
        if place.submission not in outputs:
            raise NotFound("There is no output yet.")
        return outputs[place.submission][offset : offset + limit]

    async def with_output(config: AdapterConfig) -> MemoryBackend:
        backend = await bench.open(config)
        setattr(backend, "read_output", read_output)  # noqa: B010 - the protocol is met by having it
        return backend

    monkeypatch.setattr("dispatch.shell.clusters.open_backend", with_output)
    return outputs


def test_what_a_job_has_written_is_printed_as_it_is(bench: Bench, written: Written) -> None:
    bench.submit()
    written[1] = b"step 1\n\xff\n" * 40_000
    with_bytes = bench.run("logs", "train", "--json")
    assert [document["offset"] for document in with_bytes.documents][:2] == [0, 65536]
    assert "".join(document["text"] for document in with_bytes.documents).startswith("step 1\n�\n")
    written[1] = b"step 1\nstep 2\n"
    assert bench.run("logs", "train").out == "step 1\nstep 2\n"


def test_no_output_yet_is_not_found(bench: Bench, written: Written) -> None:
    bench.submit()
    said = bench.run("logs", "train", "--json")
    assert (said.code, said.error["kind"]) == (Exit.NOT_FOUND, "NotFound")
    assert bench.run("logs", "train", "--submission", "7").code == Exit.NOT_FOUND


def test_a_cluster_that_reads_no_output_says_so(bench: Bench) -> None:
    bench.submit()
    said = bench.run("logs", "train", "--json")
    assert (said.code, said.error["kind"]) == (Exit.REFUSED, "Unsupported")


def test_a_reader_goes_on_with_the_next_submission(
    bench: Bench, written: Written, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    job = bench.submit(text=JOB + "recovery: spot\n")
    bench.env.run(job)
    bench.run("wait", job, "--timeout", "10s")
    with open_for(Common()) as system:
        reader = Reader(Common(), system, job, None)
        written[1] = b"one\n"
        asyncio.run(reader.read())
        bench.preempt()
        written[1] += b"last words\n"
        bench.run("wait", job, "--timeout", "5m")
        written[2] = b"two\n"
        asyncio.run(reader.read())
    assert capsysbinary.readouterr().out == b"one\nlast words\ntwo\n"


def test_following_ends_with_the_job(bench: Bench, written: Written) -> None:
    job = bench.submit()
    bench.env.run(job)
    bench.env.finish(job)
    bench.run("wait", job)
    written[1] = b"one\n"
    assert bench.run("logs", job, "--follow").out == "one\n"
    written.clear()
    assert bench.run("logs", job, "--follow").code == Exit.NOT_FOUND


def test_following_waits_for_output_and_through_absences(bench: Bench, written: Written) -> None:
    job = bench.submit()
    bench.clock.after(3, lambda: written.update({1: b"one\n"}))

    def enough() -> None:
        raise KeyboardInterrupt

    bench.clock.after(9, enough)
    said = bench.run("logs", job, "-f")
    assert (said.code, said.out) == (Exit.INTERRUPTED, "one\n")
