"""``dispatch supervise``: apply the policies of all jobs."""

from __future__ import annotations

import asyncio
from importlib.metadata import version

import click

from dispatch.cli.options import Common, common_options
from dispatch.cli.telling import moment
from dispatch.cli.terminal import emit, note
from dispatch.cli.working import open_for
from dispatch.shell.supervisor import Round


@click.command("supervise")
@click.option(
    "--once",
    is_flag=True,
    help="One round, as for cron: each job until its next wait is over a minute.",
)
@common_options
def command(common: Common, *, once: bool) -> None:
    """Apply the policies of all jobs in the records, until Ctrl-C or SIGTERM.

    It may be killed, upgraded, or run twice at once. Put it in tmux, in a systemd user unit, or `--once` in cron.
    """
    with open_for(common, role="supervisor") as system:
        note(f"supervising the jobs in {system.store.place}")

        def told(done: Round) -> None:
            if common.as_json and done.looked_at:
                due = moment(done.next_due) if done.next_due else None
                emit(
                    {
                        "event": "round",
                        "at": moment(system.clock.now()),
                        "lookedAt": done.looked_at,
                        "nextDue": due,
                    }
                )

        asyncio.run(system.supervise(version("dispatch-jobs"), once=once, on_round=told))
