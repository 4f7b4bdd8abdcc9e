"""The command with protections taken away: ``unsafe.py gate submit …``, ``unsafe.py ticket supervise``.

It is for tests alone, which show with it that a run without a protection is seen to go wrong. Nothing of dispatch can do
this: it replaces texts of the program in this one process, and refuses to run where a text is no longer there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from dispatch.adapters.slurm.jobscript import render
from dispatch.adapters.slurm.writing import frame, judging
from dispatch.cli.main import main

NO_GATE = {
    ' --hold --begin="uts$base"': "",
    'if [ "$(field JobName)" != "$name" ]': 'exit 0\nif [ "$(field JobName)" != "$name" ]',
}
NO_GATE_OF_MANY = {
    ' --hold --begin="uts$base"': "",
    "for id in $changed; do": "for id in; do",
}
"""Submitted without the hold and the begin time, and nobody looks whether they are there."""

NO_TICKET = {
    "\ndispatch_take_ticket\n": "\ndispatch_fence() { :; }\ndispatch_take_ticket\n",
    "set -C # makes the redirection an exclusive create": "set +C",
}
"""The start is still written down, but whoever finds that it has been does not mind."""


def replaced(text: str, changes: Mapping[str, str]) -> str:
    """Replace each text once. Raises ``AssertionError`` where it is not there exactly once."""
    for old, new in changes.items():
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        text = text.replace(old, new)
    return text


def _without_gate() -> None:
    whole: Callable[[str], str] = frame._text

    def text(part: str) -> str:
        changes = {"start": NO_GATE, "start_many": NO_GATE_OF_MANY}.get(part, {})
        return replaced(whole(part), changes)

    def no_changes(*_: object, **__: object) -> list[str]:
        return []

    frame._text = text
    assert hasattr(judging, "_changes")
    judging._changes = no_changes


def _without_ticket() -> None:
    body: Callable[[], str] = render._body
    render._body = lambda: replaced(body(), NO_TICKET)


PROTECTIONS = {"gate": _without_gate, "ticket": _without_ticket}

if __name__ == "__main__":
    PROTECTIONS[sys.argv[1]]()
    raise SystemExit(main(sys.argv[2:]))
