"""The calls: read jobs and nodes through a transport."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from dispatch.adapters.slurm.reading.assemble import (
    Answer,
    answer_of,
    facts_of,
    observations_of,
    unsettled,
)
from dispatch.adapters.slurm.reading.key import Ref
from dispatch.adapters.slurm.reading.nodes import NODE_UNKNOWN, decode_nodes
from dispatch.adapters.slurm.reading.script import (
    Script,
    Section,
    nodes_script,
    read_script,
    sections_of,
)
from dispatch.adapters.slurm.reading.tickets import TICKETS_DIRECTORY
from dispatch.model.base import Value
from dispatch.model.epoch import is_ulid
from dispatch.model.errors import Invalid, OutcomeUnknown, Unavailable
from dispatch.model.quantity import Duration
from dispatch.model.status import NodeReport, Observation
from dispatch.spi.adapter import Reading
from dispatch.spi.transport import Transport

BATCH = 400
"""Jobs in one call: some 3.5 MB of JSON."""

_DAY = 86_400
_ULID_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class ReadSettings(Value):
    """How to read: the directory of the tickets, and the bound of each Slurm command."""

    shared: str = TICKETS_DIRECTORY
    command_bound: Duration = Duration(seconds=25)
    """More than a client waits for a controller by itself: MessageTimeout and its retries."""
    call_bound: Duration = Duration(seconds=90)


DEFAULT = ReadSettings()


async def read_jobs(
    transport: Transport,
    jobs: Sequence[str],
    settings: ReadSettings = DEFAULT,
    known: Sequence[str] = (),
) -> Reading:
    """Read every object of these jobs, under one boot of the controller.

    One call for what the queue tells of jobs with ``known`` objects, a second one for the others and for those that it does not
    show, or shows ended or requeued: that asks accounting too, the tickets once more, and for the ids of the ``known`` refs: somebody may have renamed them. Raises ``Unavailable`` wherever anything could not be read: an error is
    never an absence.
    """
    wanted = list(dict.fromkeys(jobs))
    refs: dict[str, list[Ref]] = {}
    for ref in map(Ref.parse, dict.fromkeys(known)):
        refs.setdefault(ref.job, []).append(ref)
    readings = [
        await _read_batch(transport, wanted[start : start + BATCH], refs, settings)
        for start in range(0, max(len(wanted), 1), BATCH)
    ]
    if len({reading.boot for reading in readings}) > 1:
        raise _restarted()
    observations = tuple(seen for reading in readings for seen in reading.observations)
    return Reading(sent=readings[0].sent, boot=readings[0].boot, observations=observations)


async def _read_batch(
    transport: Transport, jobs: list[str], refs: dict[str, list[Ref]], settings: ReadSettings
) -> Reading:
    shown = [job for job in jobs if job in refs]
    more = [job for job in jobs if job not in refs]
    if not shown:
        # Of none an object is known: the queue alone would tell nothing, so that accounting is asked at once.
        only = await _ask(transport, more, (), settings, full=bool(more))
        found = observations_of(facts_of(only, more, {}))
        return Reading(sent=only.sent, boot=only.boot, observations=found)
    first = await _ask(transport, shown, (), settings, full=False)
    queued = facts_of(first, shown, {})
    more += unsettled(queued, shown, refs)
    settled = tuple(seen for seen in observations_of(queued) if seen.key.job not in more)
    rest: tuple[Observation, ...] = ()
    if more:
        known = [ref for job in more for ref in refs.get(job, ())]
        second = await _ask(transport, more, known, settings, full=True)
        if second.boot != first.boot:
            raise _restarted()
        rest = observations_of(facts_of(second, more, first.before, known))
    return Reading(sent=first.sent, boot=first.boot, observations=settled + rest)


async def _ask(
    transport: Transport,
    jobs: list[str],
    known: Sequence[Ref],
    settings: ReadSettings,
    *,
    full: bool,
) -> Answer:
    token = secrets.token_hex(16)
    script = read_script(
        jobs,
        [ref.number for ref in known],
        full=full,
        token=token,
        bound=max(1, settings.command_bound.ms // 1000),
        shared=settings.shared,
        since=oldest(jobs) - _DAY,
    )
    return answer_of(await run_script(transport, script, token, settings))


async def run_script(
    transport: Transport, script: Script, token: str, settings: ReadSettings
) -> list[Section]:
    """Run a script that reads, and cut what it prints. Raises ``Unavailable``; nothing has been changed then."""
    try:
        done = await transport.run(
            script.text, script.args, stdin=script.stdin, timeout=settings.call_bound
        )
    except OutcomeUnknown as error:
        # A read that may have run has changed nothing.
        raise Unavailable(f"The answer was lost: {error.what}", todo=error.todo) from error
    sections = sections_of(done.stdout, done.err, token)
    if done.returncode != 0 or not sections:
        words = done.err.strip()[-400:] or f"return code {done.returncode}"
        raise Unavailable(f"The script that reads Slurm failed: {words}.")
    return sections


def _restarted() -> Unavailable:
    return Unavailable(
        "The controller restarted while it was read.", todo="It is read again at the next poll."
    )


def oldest(jobs: Sequence[str]) -> int:
    """When the oldest of these jobs was submitted, in Unix seconds, by its ULID."""
    return max(min(map(_milliseconds, jobs), default=0) // 1000, 2 * _DAY)


def _milliseconds(job: str) -> int:
    if not is_ulid(job):
        raise Invalid(f"{job!r} is no job id.", todo="A job id is a ULID of 26 characters.")
    return sum(_ULID_DIGITS.index(digit) << 5 * (9 - place) for place, digit in enumerate(job[:10]))


async def read_nodes(
    transport: Transport, names: Sequence[str], ref: str, settings: ReadSettings = DEFAULT
) -> tuple[NodeReport, ...]:
    """Read these nodes; with no names, every node on which the object of ``ref`` could have run.

    Raises ``Unavailable``, also where Slurm does not know one of the nodes: no report is no proof.
    """
    token = secrets.token_hex(16)
    bound = max(1, settings.command_bound.ms // 1000)
    script = nodes_script(names, Ref.parse(ref), token=token, bound=bound)
    sections = await run_script(transport, script, token, settings)
    section = sections[-1]
    text = section.out.decode("utf-8", "replace")
    # A node that is unknown gives return code 1 although the others were answered.
    if section.returncode and not any(words in text + section.err for words in NODE_UNKNOWN):
        raise Unavailable(
            f"The nodes cannot be read: scontrol show node: {section.err or section.returncode}."
        )
    reports = decode_nodes(text)
    silent = [name for name in names if name not in {report.name for report in reports}]
    return (
        *reports,
        *(NodeReport(name=name, responding=False, state="not reported") for name in silent),
    )
