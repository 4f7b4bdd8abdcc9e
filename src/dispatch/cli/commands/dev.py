"""``dispatch dev``: tools for people who write adapters."""

from __future__ import annotations

import click

from dispatch.cli.commands.dev_conformance import conformance
from dispatch.cli.commands.dev_sim import sim
from dispatch.cli.options import Common, common_options


@click.group("dev", commands={"conformance": conformance, "sim": sim})
@common_options
def command(common: Common) -> None:
    """Tools for people who write adapters.

    `dispatch dev conformance` runs the rules that every adapter must keep against one. `dispatch dev sim` runs whole sites in
    virtual time, with everything that can go wrong, and checks the rules of safety after every step.
    """
    click.get_current_context().obj = common
