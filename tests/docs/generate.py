"""Write the generated pages of docs/reference, and the tables of the protocol; ``python3 dev.py docs`` runs it, and a test keeps the pages true."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import get_args

from dispatch.adapters.slurm.reading.ending import ENDED
from dispatch.adapters.slurm.reading.tables import CODES, EXIT_HINTS, LAUNCH_SIGNALS, WAITING
from dispatch.adapters.slurm.settings import Settings, TransportSettings
from dispatch.core.automaton import MOVES
from dispatch.core.deciding import ROWS
from dispatch.model import journal
from dispatch.model.job import (
    After,
    Container,
    Job,
    KubeflowOptions,
    SecretSource,
    SignalBefore,
    SlurmOptions,
)
from dispatch.model.policy import (
    Backoff,
    Cessation,
    Changes,
    CrashLoop,
    ExcludeNodes,
    Limits,
    Notify,
    PendingNotice,
    Policy,
    Raise,
    RaiseMemory,
    Raises,
    Rule,
    Trigger,
)
from dispatch.model.status import Cause, State
from dispatch.shell.config import ClusterConfig, ConfigFile, SupervisorConfig
from docs import protocol
from docs.blocks import ROOT
from docs.fields import Kind, field_table, honoured, spoken, struct_of, table
from docs.meanings import CAUSES, STATES, charge, matched
from docs.texts import TEXTS

REFERENCE = ROOT / "docs" / "reference"
PARTS = Path(__file__).with_name("parts")
WRITTEN = "<!-- Written by `python3 dev.py docs`; a test keeps it true. -->"


def section(kind: Kind, *, on_slurm: Callable[[str], str] | None = None) -> str:
    """Write the section of one value."""
    lines = field_table(kind, TEXTS[kind], on_slurm=on_slurm)
    return "\n".join([f"## {spoken(kind.__name__)}", "", *lines, ""])


def page(title: str, part: str, sections: Iterable[str]) -> str:
    """Put a page together: its title, the text that people wrote, the sections."""
    text = (PARTS / part).read_text()
    return "\n".join([f"# {title}", "", WRITTEN, "", text, *sections]).rstrip("\n") + "\n"


def job_file() -> str:
    """Write the reference of the job file."""
    own = [section(kind) for kind in (SecretSource, SignalBefore, SlurmOptions)]
    later = [section(kind) for kind in (Container, After, KubeflowOptions)]
    head = "## Not honoured by any adapter yet\n\nThe plan refuses a job that uses these.\n"
    deeper = [text.replace("## ", "### ", 1) for text in later]
    return page(
        "The job file", "job-file.md", [section(Job, on_slurm=honoured), *own, head, *deeper]
    )


def recovery() -> str:
    """Write the reference of the policy."""
    kinds: tuple[Kind, ...] = (
        *(Policy, Rule, Trigger, Backoff, ExcludeNodes, Raises, Raise, RaiseMemory, Changes),
        *(Limits, CrashLoop, Cessation, PendingNotice, Notify),
    )
    return page("The recovery policy", "recovery.md", map(section, kinds))


def configuration() -> str:
    """Write the reference of the configuration."""
    texts = [section(kind) for kind in (ConfigFile, ClusterConfig, SupervisorConfig)]
    slurm = [section(kind) for kind in (Settings, TransportSettings)]
    slurm[0] = slurm[0].replace("## settings", "## settings\n\nThose of the Slurm adapter.", 1)
    return page("The configuration", "configuration.md", [*texts, *slurm])


def causes() -> str:
    """Write the reference of states and causes."""
    states = table(
        ["state", "meaning", "an end"],
        [[f"`{s}`", STATES[s], "yes" if s.ended else ""] for s in State],
    )
    rows = [[f"`{cause}`", *CAUSES[cause], charge(cause), matched(cause)] for cause in Cause]
    heads = ["cause", "meaning", "how it is known on Slurm", "charged to", "rules can match it"]
    return page("States and causes", "causes.md", [
        "## States\n", *states, "", "## Causes\n", *table(heads, rows), "", *_slurm(), *_life(),
    ])  # fmt: skip


def _slurm() -> list[str]:
    codes = [
        [
            f"`{code.name}`",
            code.kind,
            f"`{code.state}`",
            f"`{code.cause}`" if code.cause else "",
            code.why,
        ]
        for code in CODES
    ]
    waiting = [
        [f"`{row.reason}`", f"`{row.cause}`" if row.cause else "", row.why] for row in WAITING
    ]
    signals = [
        [f"signal {number}", "`LaunchFailed`", why] for number, why in LAUNCH_SIGNALS.items()
    ]
    hints = [
        [f"exit code {number}", f"suspected `{cause}`", ""] for number, cause in EXIT_HINTS.items()
    ]
    return [
        "## How an end is judged on Slurm\n",
        "The first row that holds gives the verdict.\n",
        *(f"{number}. {rule.name}" for number, rule in enumerate(ENDED, 1)),
        "\n## Slurm's states and flags\n",
        "What they mean where no other evidence says more. A code that is not here reads as `Unknown`.\n",
        *table(["code", "kind", "state", "cause", "why"], codes),
        "",
        *table(["code", "cause", "why"], [*signals, *hints]),
        "\n## Slurm's reasons of waiting\n",
        "The first row that matches; `*` stands for anything. A reason that is not here reads as `Unknown`.\n",
        *table(["reason", "cause", "why"], waiting),
        "",
    ]


def _life() -> list[str]:
    arrows: dict[tuple[str, str], list[str]] = {}
    for move, pairs in MOVES.items():
        for before, after in pairs.items():
            if before is not after:
                arrows.setdefault((before.value, after.value), []).append(move.value)
    drawn = [f"    {one} --> {two}: {' / '.join(words)}" for (one, two), words in arrows.items()]
    rows = [
        [str(number), f"`{row.__name__}`", _cited(row.__doc__ or "")]
        for number, row in enumerate(ROWS, 1)
    ]
    return [
        "## The life of an object\n",
        "As the record knows it. Each arrow says what the record says happened.\n",
        "```mermaid", "stateDiagram-v2", "    [*] --> gated", *drawn, "```",
        "\n## What is done next\n",
        "The engine asks this table after every read. The first row that has an answer decides.\n",
        *table(["", "row", "what it does"], rows),
    ]  # fmt: skip


def _cited(text: str) -> str:
    """The first line of a docstring, without the rule that it cites."""
    return re.sub(r" \(12, [^)]*\)", "", text.split("\n", maxsplit=1)[0])


def record_events() -> str:
    """Write the reference of the events of a record."""
    kinds: tuple[type[journal.Event], ...] = get_args(journal.AnyEvent)
    rows = [
        [
            f"`{struct_of(kind).tag}`",
            " ".join(inspect.cleandoc(kind.__doc__ or "").split()),
            ", ".join(f"`{field.encode_name}`" for field in struct_of(kind).fields),
        ]
        for kind in kinds
    ]
    entry = [
        [f"`{field.encode_name}`", ENTRY[field.encode_name]]
        for field in struct_of(journal.Entry).fields
    ]
    parts = ["## Entry\n", *table(["field", "what"], entry), "", "## Events\n"]
    return page(
        "The events of a record",
        "record-events.md",
        [*parts, *table(["event", "meaning", "fields"], rows)],
    )


ENTRY = {
    "version": "Its number in the record of the job, from 1.",
    "at": "When it was written.",
    "actor": "Who wrote it: `user`, `host` and `role`.",
    "nonce": "The writer's own token.",
    "event": "What happened: one of the events below, by its `event`.",
    "schema": "The version of the events; left out where it is 1.",
}

PAGES: dict[str, Callable[[], str]] = {
    "job-file.md": job_file,
    "recovery.md": recovery,
    "configuration.md": configuration,
    "causes.md": causes,
    "record-events.md": record_events,
}


def main() -> int:
    """Write every page anew."""
    for name, write in PAGES.items():
        (REFERENCE / name).write_text(write())
    protocol.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
