"""``dispatch version``."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions, version

import click

from dispatch.cli.options import Common, common_options
from dispatch.cli.terminal import emit, note, say

OURS = "dispatch-jobs"


@click.command("version")
@common_options
def command(common: Common) -> None:
    """Print the version; name other installed distributions with the same package or command."""
    number = version(OURS)
    others = clashes(distributions())
    if common.as_json:
        emit({"version": number, "python": platform.python_version(), "clashes": others})
        return
    say(f"dispatch {number}")
    for other in others:
        note(
            f"{other} is installed here too, with a package or a command called dispatch: one has overwritten the other. "
            "Install them in environments of their own."
        )


def clashes(installed: Iterable[Distribution]) -> list[str]:
    """Name the distributions, ours apart, that provide a package or a command called ``dispatch`` (decision 0002)."""
    return sorted(
        {
            str(one.metadata["Name"])
            for one in installed
            if one.metadata["Name"] not in (None, OURS) and _provides_dispatch(one)
        }
    )


def _provides_dispatch(installed: Distribution) -> bool:
    command = any(
        point.group == "console_scripts" and point.name == "dispatch"
        for point in installed.entry_points
    )
    return command or any(file.parts[0] == "dispatch" for file in installed.files or ())
