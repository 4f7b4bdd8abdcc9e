"""The reference of the command line, ``docs/reference/cli.md``, written from the commands themselves.

``python -m dispatch.cli.reference > docs/reference/cli.md`` writes it anew; a test fails where it is out of date.
"""

from __future__ import annotations

import inspect
import sys

import click

from dispatch.cli.exits import MEANINGS
from dispatch.cli.main import ALIASES, COMMANDS, cli, load
from dispatch.cli.options import Common

COMMANDS_HEAD = """
## Commands

Every command takes:

| option | |
| --- | --- |
"""

HEAD = """\
# The command line

<!-- Written by `python -m dispatch.cli.reference`; a test keeps it true. -->

A job is named by its id, by a prefix of it (six letters or more), by its key, or by its name. Where a
name may mean several jobs, the command lists them and does nothing.

Results go to standard output, all else to standard error.

## For scripts

With `--json` every command answers in JSON, one document a line. Each document has `schemaVersion`
(1); fields are added, never renamed. Moments are RFC 3339 in UTC. An error is a document on standard
error, `{"schemaVersion": 1, "error": {"kind", "what", "todo", "faults" | "reasons"}}`, remarks are
`{"schemaVersion": 1, "note"}`, and what is logged is `{"schemaVersion": 1, "log"}`.

### Exit codes

| code | meaning |
| --- | --- |
"""

OPTION_HEAD = "\n| option | |\n| --- | --- |\n"

TAIL = """
## Environment

| variable | meaning |
| --- | --- |
| `DISPATCH_CONFIG` | the only configuration file to read, in place of `~/.config/dispatch/config.toml` and `./dispatch.toml` |
| `DISPATCH_RECORDS` | where the records are; `--records` goes before it, the configuration after |
| `DISPATCH_TRACEBACK` | if set, a fault of dispatch itself is shown with its traceback |
| `NO_COLOR` | if set, nothing is coloured |
| `XDG_CONFIG_HOME`, `XDG_STATE_HOME` | as the XDG specification says |

## Completion

`eval "$(_DISPATCH_COMPLETE=bash_source dispatch)"`, or `zsh_source`, or `fish_source`.
"""


def reference() -> str:
    """Write the reference."""
    rows = [f"| {code.value} | {meaning} |\n" for code, meaning in MEANINGS.items()]
    version = load("version")
    shared = [_option(option) for option in version.params if isinstance(option, click.Option)]
    parts = [HEAD, *rows, COMMANDS_HEAD, *shared]
    context = click.Context(cli, info_name="dispatch")
    for name in COMMANDS:
        command = load(name)
        inner = click.Context(command, info_name=name, parent=context)
        parts.append(_section(name, command, inner))
        if isinstance(command, click.Group):
            parts += [
                _section(f"{name} {sub}", each, inner) for sub, each in command.commands.items()
            ]
    return "".join([*parts, TAIL])


def _section(name: str, command: click.Command, context: click.Context) -> str:
    usage = f"dispatch {name} {' '.join(command.collect_usage_pieces(context))}"
    aliases = [alias for alias, known in ALIASES.items() if known == name]
    also = f" Also: `dispatch {', '.join(aliases)}`." if aliases else ""
    lines = [f"\n### {name}\n\n    {usage}\n\n{_described(command)}{also}\n"]
    options = [
        option
        for option in command.params
        if isinstance(option, click.Option) and option.name not in Common._fields
    ]
    table = [OPTION_HEAD, *map(_option, options)] if options else []
    return "".join([*lines, *table])


def _option(option: click.Option) -> str:
    """Write an option from what it was given, not in the words of one version of click."""
    words = f"{', '.join(option.opts)} {'' if option.is_flag else option.metavar or ''}".strip()
    return f"| `{words}` | {option.help} |\n"


def _described(command: click.Command) -> str:
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


if __name__ == "__main__":
    sys.stdout.write(reference())
