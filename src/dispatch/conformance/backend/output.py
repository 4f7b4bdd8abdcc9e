"""Output: what a program has said is read back whole, and nobody else's (03, OutputReader)."""

from __future__ import annotations

from dispatch.conformance.backend.opening import NOT_YES
from dispatch.conformance.backend.suite import check
from dispatch.conformance.bench import Bench
from dispatch.conformance.scheduler import Made
from dispatch.conformance.verdicts import Broken, expect_same, refused
from dispatch.model.answers import Capability
from dispatch.model.errors import NotFound, Unsupported
from dispatch.spi.adapter import OutputPlace, OutputReader

OUTPUT = Capability.OUTPUT
SAID = "epoch 1, loss 0.5: ü\n" * 20
"""Some lines, which are no ASCII."""
MOST = 1_000_000


def place_of(made: Made) -> OutputPlace:
    """Where the output of an object is."""
    order = made.order
    return OutputPlace(id=order.id, job=order.job, submission=order.submission, restarts=0)


async def start_telling(on: Bench, text: str) -> Made:
    """Make an object whose program says that, and runs on; wait until it has."""
    made = await on.start_running(on.order(on.harness.telling_job(text)))
    wanted, end = text.encode(), on.harness.now() + on.harness.timings.wait
    said = b""
    while said != wanted:
        if on.harness.now() > end:
            raise Broken(f"its output is {said!r}, not {wanted!r}")
        await on.harness.pass_time(on.harness.timings.poll)
        try:
            said = await on.output.read_output(place_of(made), 0, MOST)
        except NotFound:
            continue
    return made


@check(needs=OutputReader, claims=OUTPUT)
async def what_a_program_has_said_is_read_in_pieces(on: Bench) -> None:
    """A long log is followed from where one has read to; no byte is lost or told twice."""
    made = await start_telling(on, SAID)
    said, limit = b"", 50
    while piece := await on.output.read_output(place_of(made), len(said), limit):
        if len(piece) > limit:
            raise Broken(f"{len(piece)} bytes were read, where {limit} were asked for")
        said += piece
        if len(said) > len(SAID.encode()) + limit:
            raise Broken(f"its output goes on after {SAID!r}")
    expect_same(said, SAID.encode(), "the output")


@check(needs=OutputReader, claims=OUTPUT)
async def beyond_its_end_an_output_is_empty(on: Bench) -> None:
    """Whoever follows it asks again, and waits."""
    made = await start_telling(on, SAID)
    for offset in (len(SAID.encode()), len(SAID.encode()) + 9):
        found = await on.output.read_output(place_of(made), offset, MOST)
        expect_same(found, b"", f"the output from {offset} on")


@check(needs=OutputReader, claims=OUTPUT)
async def each_output_is_its_own(on: Bench) -> None:
    """A job that shows another's log sends a person after the wrong fault."""
    first, second = await start_telling(on, "first\n"), await start_telling(on, "second\n")
    said = [await on.output.read_output(place_of(made), 0, MOST) for made in (first, second)]
    expect_same(said, [b"first\n", b"second\n"], "the two outputs")


@check(needs=OutputReader, claims=OUTPUT)
async def an_output_that_is_not_there_yet_is_not_found(on: Bench) -> None:
    """An empty one would read as a program that has said nothing."""
    made = await on.start(on.order(on.harness.telling_job(SAID)))
    with refused(NotFound):
        await on.output.read_output(place_of(made), 0, MOST)


@check(needs=OutputReader)
async def reading_output_without_the_claim_is_unsupported(on: Bench) -> None:
    """What is not proven is not tried, and unknown counts as no."""
    for value in NOT_YES:
        backend = await on.view_without(OUTPUT, value)
        if isinstance(backend, OutputReader):
            made = Made("", on.order())
            with refused(Unsupported):
                await backend.read_output(place_of(made), 0, MOST)
