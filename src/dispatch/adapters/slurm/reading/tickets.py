"""What the job script leaves in the shared directory: that an execution started, how it ended, what was refused.

``<shared>/<ULID>/<epoch>.start``, ``<epoch>.end`` and ``<epoch>.fenced.<jobid>.<n>``, each of lines ``key=value``. The
start is created exclusively, so there is one for an epoch (12, O4); the end is put in place whole, by a rename.
"""

from __future__ import annotations

import re

from dispatch.model.base import Value
from dispatch.model.epoch import SCALE, Epoch, is_ulid

TICKETS_DIRECTORY = "$HOME/.dispatch/runs"
"""The default of the shared directory; a leading ``$HOME`` is expanded where the script runs."""
START_SUFFIX = "start"
END_SUFFIX = "end"
FENCED_SUFFIX = "fenced"
FENCED_EXIT = 119
"""The exit code of a job script that refused a second launch."""
LAUNCH_FAILED_EXIT = 118
"""The exit code of a job script that could not start the command."""

_FILE = re.compile(
    r"(?:\./)?([0-9A-Z]{26})/([0-9]{1,13})\.(start|end|fenced\.([0-9]{1,12})\.[0-9]{1,9}):(.*)",
    re.DOTALL,
)
_PAIR = re.compile(r"([a-z]{1,20})=(.{0,400})", re.DOTALL)


class Started(Value):
    """That the command of an epoch was about to be started, by which object, where and when."""

    epoch: Epoch
    number: int = 0
    attempt: str = ""
    node: str = ""
    nodes: str = ""
    at: int = 0
    store: str = ""
    base: int = 0


class Ended(Value):
    """How the command of an epoch ended: its exit status, or the signal that ended it."""

    epoch: Epoch
    status: int
    signal: str = ""
    at: int = 0
    attempt: str = ""
    launched: bool = True
    """Whether the command was started, on all its nodes; false where the script says ``launch=failed``."""
    told: str = ""
    """A signal to end that came to the script from outside: its end may be Slurm's doing, not the program's."""


class Fenced(Value):
    """That a launch of an epoch was refused, because that epoch or a higher one had started."""

    epoch: Epoch
    number: int
    attempt: str = ""
    node: str = ""
    seen: str = ""
    at: int = 0


class Tickets(Value):
    """All that the job script left of one job."""

    starts: tuple[Started, ...] = ()
    ends: tuple[Ended, ...] = ()
    fenced: tuple[Fenced, ...] = ()

    def start_of(self, epoch: Epoch, number: int, attempt: str) -> Started | None:
        """The start of an epoch by this very object."""
        return next(
            (s for s in self.starts if (s.epoch, s.number, s.attempt) == (epoch, number, attempt)),
            None,
        )

    def end_of(self, epoch: Epoch, attempt: str) -> Ended | None:
        """The end of an epoch of this attempt."""
        return next(
            (end for end in self.ends if (end.epoch, end.attempt) == (epoch, attempt)), None
        )

    def fenced_of(self, epoch: Epoch, number: int, attempt: str) -> Fenced | None:
        """A refused launch of an epoch by this very object, the latest."""
        mine = [
            f for f in self.fenced if (f.epoch, f.number, f.attempt) == (epoch, number, attempt)
        ]
        return max(mine, key=lambda f: f.at, default=None)


NO_TICKETS = Tickets()


def decode_tickets(text: str) -> dict[str, Tickets]:
    """Read lines of ``<ULID>/<file>:<key>=<value>`` into the tickets of each job; whatever else there is, is ignored."""
    files: dict[tuple[str, int, str, int], dict[str, str]] = {}
    for line in text.split("\n"):
        found = _FILE.fullmatch(line)
        if found is None or not is_ulid(found[1]):
            continue
        said = files.setdefault((found[1], int(found[2]), found[3], int(found[4] or 0)), {})
        if pair := _PAIR.fullmatch(found[5]):
            said.setdefault(pair[1], pair[2])
    jobs: dict[str, list[Started | Ended | Fenced]] = {}
    for (job, epoch, kind, number), said in files.items():
        if (
            epoch < SCALE * SCALE
            and (ticket := _ticket(kind, Epoch.of(epoch), number, said)) is not None
        ):
            jobs.setdefault(job, []).append(ticket)
    return {job: _sorted(tickets) for job, tickets in jobs.items()}


def _sorted(tickets: list[Started | Ended | Fenced]) -> Tickets:
    return Tickets(
        starts=tuple(ticket for ticket in tickets if isinstance(ticket, Started)),
        ends=tuple(ticket for ticket in tickets if isinstance(ticket, Ended)),
        fenced=tuple(ticket for ticket in tickets if isinstance(ticket, Fenced)),
    )


def _ticket(
    kind: str, epoch: Epoch, number: int, said: dict[str, str]
) -> Started | Ended | Fenced | None:
    attempt, node, status = said.get("attempt", ""), said.get("node", ""), said.get("status", "")
    match kind:
        case "start":
            return Started(
                epoch=epoch, number=_whole(said.get("jobid")), attempt=attempt, node=node, nodes=said.get("nodes", ""),
                at=_whole(said.get("started")), store=said.get("store", ""), base=_whole(said.get("base")),
            )  # fmt: skip
        case "end" if (
            status.isascii() and status.isdigit() and len(status) <= 3 and int(status) <= 255
        ):
            signal = said.get("signal", "").removeprefix("SIG")
            return Ended(
                epoch=epoch,
                status=int(status),
                signal=signal,
                at=_whole(said.get("ended")),
                attempt=attempt,
                launched=said.get("launch") != "failed",
                told=said.get("told", ""),
            )
        case "end":
            return None
        case _:
            at, seen = _whole(said.get("at")), said.get("seen", "")
            return Fenced(epoch=epoch, number=number, attempt=attempt, node=node, seen=seen, at=at)


def _whole(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else 0


def merge(before: Tickets, after: Tickets) -> Tickets:
    """All tickets of two reads of one job, each once, the later read's first."""
    return Tickets(
        starts=tuple(dict.fromkeys((*after.starts, *before.starts))),
        ends=tuple(dict.fromkeys((*after.ends, *before.ends))),
        fenced=tuple(dict.fromkeys((*after.fenced, *before.fenced))),
    )
