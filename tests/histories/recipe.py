"""Record the lives as histories of the present schema: ``PYTHONPATH=tests .venv/bin/python -m histories.recipe``.

Only what is not there yet is written: a history is never recorded anew. ``--views`` writes again what each of them folds
to; the difference is for a person to judge.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from dispatch.model.codec import encode
from dispatch.model.journal import SCHEMA, Entry
from histories.lives import LIVES, Life
from histories.reading import folded, folder, histories, view_of
from shell.world import World


def tell(life: Life, place: Path) -> tuple[Entry, ...]:
    """Tell a life on a cluster and records of its own, and give the record of its job."""
    made = World(place)
    try:
        return made.history(life(made))
    finally:
        made.store.close()


def name_of(life: Life) -> str:
    """The name of its file."""
    return life.__name__.replace("_", "-")


def main(arguments: list[str]) -> int:
    """Write what is missing, and with ``--views`` every view."""
    folder(SCHEMA).mkdir(exist_ok=True)
    for life in LIVES:
        history = folder(SCHEMA) / f"{name_of(life)}.jsonl"
        if not history.exists():
            with TemporaryDirectory() as place:
                entries = tell(life, Path(place))
            history.write_bytes(b"".join(encode(entry) + b"\n" for entry in entries))
    for history in histories():
        if "--views" in arguments or not view_of(history).exists():
            view_of(history).write_bytes(encode(folded(history)) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
