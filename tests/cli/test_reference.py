"""The reference of the command line is what the command line is."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from cli.bench import run
from dispatch.cli.exits import Exit
from dispatch.cli.main import COMMANDS, load
from dispatch.cli.reference import reference

PLACE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"


def test_the_reference_is_up_to_date() -> None:
    assert PLACE.read_text() == reference(), (
        "run: python -m dispatch.cli.reference > docs/reference/cli.md"
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_answers_in_json_and_helps(name: str) -> None:
    command = load(name)
    options = {
        word
        for option in command.params
        if isinstance(option, click.Option)
        for word in option.opts
    }
    assert {"--json", "--records", "--config"} <= options
    assert all(option.help for option in command.params if isinstance(option, click.Option))
    assert command.name == name
    said = run(name, "--help")
    assert said.code == Exit.OK
    assert said.out.startswith(f"Usage: dispatch {name} ")
