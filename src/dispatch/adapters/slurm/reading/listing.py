"""What lives under the account, by one listing: the sweep's question, which names no job (12, T1)."""

from __future__ import annotations

import secrets

from dispatch.adapters.slurm.reading.assemble import UNREADABLE
from dispatch.adapters.slurm.reading.documents import states
from dispatch.adapters.slurm.reading.key import NAME_PREFIX, decode_comment, job_of
from dispatch.adapters.slurm.reading.legacy import SEPARATOR
from dispatch.adapters.slurm.reading.read import DEFAULT, ReadSettings, run_script
from dispatch.adapters.slurm.reading.script import framed
from dispatch.adapters.slurm.reading.tables import BY_NAME
from dispatch.model.errors import Unavailable
from dispatch.spi.adapter import Living
from dispatch.spi.transport import Transport

FIELDS = ("JobID", "Name", "State", "Comment")
"""As text on every release: 250 bytes an object, where JSON has nine thousand."""

# All states are asked for and told apart here: squeue's own idea of what has not ended leaves out what is suspended.
_LISTING = """\
begin living
rows=$(bounded squeue --noheader --all --states=all --me -O "$3"); rc=$?
printf '%s\\n' "$rows" | grep -a -e "$4"
end $rc
"""


async def list_living(transport: Transport, settings: ReadSettings = DEFAULT) -> tuple[Living, ...]:
    """List every object of this account with a job's name that has not ended. Raises ``Unavailable``."""
    token = secrets.token_hex(16)
    layout = ",".join(f"{field}:{SEPARATOR}" for field in FIELDS)
    args = (layout, f"{SEPARATOR}{NAME_PREFIX}")
    script = framed(_LISTING, args, token=token, bound=max(1, settings.command_bound.ms // 1000))
    section = (await run_script(transport, script, token, settings))[-1]
    if section.returncode:
        raise Unavailable(f"The queue cannot be listed: {section.err or section.returncode}.")
    return living_in(section.out.decode("utf-8", "replace"))


def living_in(text: str) -> tuple[Living, ...]:
    """Read the lines of the listing; one that is not whole, or not of a job of ours, tells nothing."""
    found = (_living(line.split(SEPARATOR, len(FIELDS) - 1)) for line in text.split("\n"))
    return tuple(dict.fromkeys(one for one in found if one is not None))


def _living(fields: list[str]) -> Living | None:
    match fields:
        case [number, name, state, comment] if number.isascii() and number.isdigit():
            job = job_of(name)
        case _:
            return None
    # A state that nobody knows counts as living: what it comes to is for the read of the job to say.
    if job is None or any(name in BY_NAME and BY_NAME[name].state.ended for name in states(state)):
        return None
    said = decode_comment(comment) or UNREADABLE
    return Living(ref=str(said.ref(job, int(number))), job=job, store=said.store)
