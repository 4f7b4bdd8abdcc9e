"""``dispatch dev``: tools for people who write adapters."""

from __future__ import annotations

import click

from dispatch.cli.commands.dev_conformance import conformance
from dispatch.cli.options import Common, common_options


@click.group("dev", commands={"conformance": conformance})
@common_options
def command(common: Common) -> None:
    """Tools for people who write adapters.

    `dispatch dev conformance` runs the rules that every adapter must keep against one.
    """
    click.get_current_context().obj = common
