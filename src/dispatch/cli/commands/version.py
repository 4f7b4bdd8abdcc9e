"""``dispatch version``."""

from __future__ import annotations

import platform
from importlib.metadata import version

import click

from dispatch.cli.options import Common, common_options
from dispatch.cli.terminal import emit, say


@click.command("version")
@common_options
def command(common: Common) -> None:
    """Print the version."""
    number = version("dispatch-jobs")
    if common.as_json:
        emit({"version": number, "python": platform.python_version()})
    else:
        say(f"dispatch {number}")
