"""The how-to's own job files, commands and picture. ``PYTHONPATH=tests python -m whatif.example`` draws the picture anew."""

from __future__ import annotations

import shlex
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

from cli.bench import Said, run
from docs.blocks import ROOT, blocks_of

PAGE = ROOT / "docs" / "how-to" / "what-would-my-policy-do.md"
PICTURE = PAGE.with_suffix(".svg")


def block(mark: str) -> str:
    """The text of the page's one block with that mark."""
    [found] = [one for one in blocks_of(PAGE) if one.mark == f"simulate: {mark}"]
    return found.text


def said(place: Path, command: str, *more: str, **files: str) -> Said:
    """Run a command of the page in a directory, beside these files."""
    for name, text in files.items():
        (place / f"{name.replace('_', '-')}.yaml").write_text(text)
    _, *words = shlex.split(block(command))
    with chdir(place):
        return run(*words, *more)


def policies(answer: Said) -> list[dict[str, Any]]:
    """What ``--json`` tells of each policy."""
    [document] = answer.documents
    found: list[dict[str, Any]] = document["policies"]
    return found


def first(place: Path) -> Said:
    """Run the page's first command, which draws ``sft.svg``."""
    return said(place, "first command", sft=block("sft.yaml"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        first(Path(directory))
        PICTURE.write_text((Path(directory) / "sft.svg").read_text())
