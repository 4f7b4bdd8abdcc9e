"""The entry point: finds the command, loads only that, and turns every error into a message and an exit code."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

import click

from dispatch.cli.exits import Exit

COMMANDS = {
    "submit": "Submit jobs from files.",
    "plan": "Say what would be done with a job, or every reason why not.",
    "status": "List jobs.",
    "show": "Show one job: where it stands, why, and its history.",
    "wait": "Wait until jobs have ended; the exit code is theirs.",
    "logs": "Print what a job has written.",
    "stop": "End jobs, for good.",
    "hold": "Keep jobs from starting until their release.",
    "release": "Lift the hold of jobs.",
    "simulate": "Play a job and its policy against failures, and tell what the policy does.",
    "supervise": "Apply the policies of all jobs, until told to stop.",
    "demo": "Watch a job survive preemption, a lost node and a lost reply; needs no cluster.",
    "dev": "Tools for people who write adapters.",
    "version": "Print the version.",
}
"""The commands, each the module of its name, with one line on what it does, so that ``--help`` loads none of them."""

ALIASES = {"cancel": "stop"}

COMPLETION_VARIABLE = "_DISPATCH_COMPLETE"
"""Set by the completion of shells; the name is click's convention."""


def load(name: str) -> click.Command:
    """Load one command of the table."""
    module = importlib.import_module(f"dispatch.cli.commands.{name}")
    command: click.Command = module.command
    return command


class LazyGroup(click.Group):
    """Loads a command only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """List the commands in the order in which one meets them."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Load a command by its name or alias."""
        name = ALIASES.get(cmd_name, cmd_name)
        return load(name) if name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and suggest the nearest where there is none."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS and name not in ALIASES:
            import difflib  # noqa: PLC0415 - only on this path

            near = difflib.get_close_matches(name, [*COMMANDS, *ALIASES], n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"There is no command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the list of commands from the table."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="A job is named by its id, by a prefix of it, by its name or by its key. Every command takes --json.",
)
def cli() -> None:
    """Submit and supervise multi-node training jobs on the scheduler that you already have."""


def main(args: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    words = list(sys.argv[1:] if args is None else args)
    as_json = "--json" in words[: words.index("--") if "--" in words else None]
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        _never_fail_on_letters(stream)
    try:
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        _let_go_of_stdout()
        return Exit.BROKEN_PIPE
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except BaseException as error:  # noqa: BLE001 - here everything becomes a message and a code
        from dispatch.cli.failures import report  # noqa: PLC0415 - not at help time

        with suppress(BrokenPipeError):
            code = report(error, as_json=as_json)
            _let_go_of_what_is_stuck()
            return code
        return Exit.BROKEN_PIPE
    return int(code or 0)


def _run(words: list[str]) -> int | None:
    """Run a command without click's own ``main``, which would answer a broken pipe with the code of a failed job."""
    if COMPLETION_VARIABLE in os.environ:
        from click.shell_completion import shell_complete  # noqa: PLC0415 - only on this path

        return shell_complete(
            cli, {}, "dispatch", COMPLETION_VARIABLE, os.environ[COMPLETION_VARIABLE]
        )
    for word in words:
        if not word.isascii() and word != word.encode(errors="ignore").decode():
            raise click.UsageError(f"The word {word!a} is not UTF-8.")
    with cli.make_context("dispatch", words) as context:
        code: int | None = cli.invoke(context)
        return code


def _open_what_is_closed() -> None:
    """Put /dev/null in the place of a standard stream that was closed, or the next file opened would take its number."""
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            stream = os.fdopen(descriptor, mode, encoding="utf-8", closefd=False)
            setattr(sys, name, stream)


def _never_fail_on_letters(stream: TextIO) -> None:
    """A name that the terminal's encoding lacks is shown in escapes; it is no reason to fail."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _let_go_of_what_is_stuck() -> None:
    """Where the output cannot be written, keep the interpreter from trying again at its exit, with a code of its own."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _let_go_of_stdout()


def _let_go_of_stdout() -> None:
    """Give the interpreter a standard output that it can flush at its exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
