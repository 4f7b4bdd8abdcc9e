"""``dispatch show``: one job from the records alone."""

from __future__ import annotations

import click

from dispatch.cli.options import Common, common_options, job_argument
from dispatch.cli.render import UNATTENDED, explained, history_lines, pretty, shown, view_document
from dispatch.cli.session import meant, note_absences, reading, supervisors
from dispatch.cli.telling import tell_history
from dispatch.cli.terminal import clean, emit, note, say, width
from dispatch.core.explaining import explain
from dispatch.core.folding import fold
from dispatch.model import codec
from dispatch.model.journal import Entry


@click.command("show")
@job_argument
@click.option(
    "--why", is_flag=True, help="Only where it stands, why, what to do, and the newest evidence."
)
@click.option(
    "--spec", is_flag=True, help="Only the job as it was accepted, as a JSON file to submit again."
)
@common_options
def command(common: Common, *, job: str, why: bool, spec: bool) -> None:
    """Show one job: where it stands, why, what to do, and its history with the evidence of every verdict."""
    with reading(common) as store:
        entries = store.load(meant(store, job).id)
        attended = supervisors(store)
    view = fold(entries)
    if spec:
        document = codec.to_builtins(view.job)
        emit({"spec": document}) if common.as_json else say(pretty(document))
        return
    explanation = explain(view)
    if common.as_json:
        emit(view_document(view, explanation, entries) | {"attended": bool(attended)})
        return
    told = tell_history(entries)
    if why:
        say(
            [
                clean(f"{view.job.name} {view.id}"),
                *explained(explanation),
                *_newest_evidence(entries),
            ]
        )
    else:
        say(shown(view, explanation, told, width()))
    if view.verdict is None:
        note_absences(attended)
        if not attended:
            note(UNATTENDED)


def _newest_evidence(entries: tuple[Entry, ...]) -> list[str]:
    """Tell the last events that carry evidence, which the present state rests on."""
    told = [event for event in tell_history(entries) if event.evidence]
    return ["", "the newest evidence:", *history_lines(told[-2:])] if told else []
