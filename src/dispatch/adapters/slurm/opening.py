"""Opening a cluster: read its version and configuration, refuse what cannot work, and say what it can do."""

from __future__ import annotations

import secrets
import time

from dispatch.adapters.slurm.adapter import SlurmBackend
from dispatch.adapters.slurm.cluster import answers_of, command_bound, declarations_of, read_cluster
from dispatch.adapters.slurm.reading import ReadSettings
from dispatch.adapters.slurm.settings import (
    Settings,
    TransportKind,
    TransportSettings,
    decode_settings,
)
from dispatch.adapters.slurm.writing import Writer
from dispatch.adapters.slurm.writing.frame import Answer, Section, compose, read_answer
from dispatch.adapters.slurm.writing.refusals import refusal_of
from dispatch.model.answers import ClusterIdentity
from dispatch.model.errors import Invalid, OutcomeUnknown, Unavailable
from dispatch.model.quantity import Duration
from dispatch.spi.adapter import AdapterConfig
from dispatch.spi.transport import Transport
from dispatch.transports import LocalTransport

_BOUND_SECONDS = 45
_LARGEST_SKEW_MS = 60_000


async def factory(config: AdapterConfig) -> SlurmBackend:
    """Open the cluster of these settings; see ``spi.adapter.Factory``."""
    settings = decode_settings(config.settings)
    transport = make_transport(settings.transport)
    try:
        return await open_slurm(config, settings, transport)
    except BaseException:
        await transport.close()
        raise


def make_transport(settings: TransportSettings) -> Transport:
    """Make the transport that the settings ask for."""
    match settings.kind:
        case TransportKind.LOCAL:
            return LocalTransport(settings.through)


async def open_slurm(
    config: AdapterConfig, settings: Settings, transport: Transport
) -> SlurmBackend:
    """Read the cluster through the transport and make its backend.

    Raises ``Invalid`` (too old a release, a federation, a clock that is far off) and ``Unavailable`` (commands that are
    missing, a controller that is away).
    """
    asked = time.time_ns() // 1_000_000
    answer = await _ask(config.alias, transport, settings.shared_dir)
    answered = time.time_ns() // 1_000_000
    skew = _skew_ms(answer, asked, answered)
    if skew > _LARGEST_SKEW_MS:
        raise Invalid(
            f"The clock of the login host of {config.alias} is {skew // 1_000} s from this host's.",
            todo="Set both by NTP: deadlines are compared there.",
        )
    version = _succeeded(answer, "version", config.alias).out.strip()
    cluster = read_cluster(version, _succeeded(answer, "config", config.alias).out, skew_ms=skew)
    # An error of the question must not pass for a no.
    if "Federation:" in _succeeded(answer, "federation", config.alias).out:
        # Its jobs may run on a sibling, whose controller is not asked (12, T2).
        raise Invalid(
            f"{config.alias} is part of a federation, which is not supported.",
            todo="Use a cluster of its own.",
        )
    bound = command_bound(cluster)
    return SlurmBackend(
        transport,
        identity=ClusterIdentity(
            alias=config.alias, adapter="slurm", name=cluster.name, version=cluster.version
        ),
        answers=answers_of(cluster, _nodes_with_tickets(answer)),
        declarations=declarations_of(cluster, settings),
        writer=Writer(transport, bound=bound, shared=settings.shared_dir),
        reading=ReadSettings(shared=settings.shared_dir, command_bound=bound),
        read_only=config.read_only,
    )


_TICKETS = """
section tickets
case $1 in '$HOME'*) shared=$HOME${1#'$HOME'} ;; '~/'*) shared=$HOME/${1#??} ;; *) shared=$1 ;; esac
bounded sh -c '
  cd "$1" 2>/dev/null || exit 0
  ls -f | head -n 300 | while IFS= read -r job; do
    case $job in *[!0-9A-Z]*) continue ;; esac
    grep -h -s "^node=." "$job"/*.start
  done | sort -u | head -n 2
' sh "$shared"
section "rc $?"
"""
"""Which nodes have left a start ticket where this host reads it: what two of them did proves the fence (12, O4)."""


def _nodes_with_tickets(answer: Answer) -> int:
    section = answer.section("tickets")
    return len(section.out.split()) if section is not None and section.rc == 0 else 0


async def _ask(alias: str, transport: Transport, shared: str) -> Answer:
    mark = f"@@dispatch-{secrets.token_hex(8)}"
    args = [mark, str(2**53), str(_BOUND_SECONDS), shared]
    try:
        completed = await transport.run(
            compose("look") + _TICKETS, args, timeout=Duration(seconds=_BOUND_SECONDS + 10)
        )
    except (OutcomeUnknown, Unavailable) as error:
        raise Unavailable(f"{alias} cannot be opened: {error.what}", todo=error.todo) from error
    answer = read_answer(mark, completed)
    if answer.began is None:
        raise Unavailable(
            f"{alias} cannot be opened: {completed.err.strip()[:500] or f'return code {completed.returncode}'}",
            todo="See that transport.through runs its arguments as a command on the login host.",
        )
    missing = answer.section("missing")
    if missing is not None and missing.out.strip():
        raise Unavailable(
            f"{alias} cannot be opened: {', '.join(missing.out.split())} not found on the PATH there.",
            todo="Open it on a login host, or set transport.through to a command that leads to one.",
        )
    return answer


def _succeeded(answer: Answer, name: str, alias: str) -> Section:
    section = answer.section(name)
    if section is None:
        raise Unavailable(f"{alias} cannot be opened: the answer broke off.")
    if section.rc != 0:
        error = refusal_of(section, f"{alias} cannot be opened")
        raise Unavailable(error.what, todo="Look whether the controller answers: scontrol ping.")
    return section


def _skew_ms(answer: Answer, asked: int, answered: int) -> int:
    assert answer.began is not None
    return max(asked - answer.began, answer.began - answered, 0)
