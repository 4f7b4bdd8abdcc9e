"""The recorded histories: where they stand, and what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from dispatch.core.folding import fold
from dispatch.model.base import Value
from dispatch.model.codec import decode, to_builtins
from dispatch.model.journal import Entry
from dispatch.model.view import JobView

HERE = Path(__file__).parent
Plain: TypeAlias = "dict[str, Plain] | list[Plain] | str | int | bool | None"
"""JSON as Python has it."""


def folder(schema: int) -> Path:
    """Where the histories of a schema stand."""
    return HERE / f"schema-{schema}"


def histories() -> list[Path]:
    """Every history of every schema."""
    return sorted(HERE.glob("schema-*/*.jsonl"))


def view_of(history: Path) -> Path:
    """Where it stands what the history folds to."""
    return history.with_suffix(".view.json")


def entries_of(history: Path) -> tuple[Entry, ...]:
    """Read a history."""
    return tuple(decode(line, Entry) for line in history.read_bytes().splitlines())


def folded(history: Path) -> dict[str, Plain]:
    """Fold the history, and give as plain data where the job stood at each version, and the last view with its defaults."""
    stands: list[Plain] = []
    view: JobView | None = None
    for entry in entries_of(history):
        view = fold([entry], view)
        stands.append(_stand(view))
    return {"stands": stands, "view": _plain(view)}


def _stand(view: JobView) -> Plain:
    return {
        "version": view.version,
        "phases": {str(n): known.phase.value for n, known in view.objects.items()},
        "intents": list[Plain](known.intent.verb.value for known in view.intents),
        "next": view.next_submission,
        "wantsAnother": view.wants_another,
        "hold": view.hold.instance if view.hold else None,
        "stop": view.stop is not None,
        "ended": view.verdict is not None,
    }


def _plain(value: Any) -> Plain:
    if isinstance(value, Value):
        names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        return {name: _plain(getattr(value, field)) for field, name in names}
    if issubclass(type(value), dict | tuple):
        return _plain_of(value)
    text: str | int | bool | None = to_builtins(value)
    return text


def _plain_of(several: dict[Any, Any] | tuple[Any, ...]) -> Plain:
    if isinstance(several, dict):
        return {str(key): _plain(one) for key, one in several.items()}
    return [_plain(one) for one in several]


def lacking(recorded: Plain, now: Plain, path: str = "$") -> list[str]:
    """Name what was recorded and is not so now. A field that a value has got since then is no difference."""
    match recorded, now:
        case dict(), dict():
            return [
                fault
                for name, before in recorded.items()
                for fault in lacking(before, now.get(name, "nothing"), f"{path}.{name}")
            ]
        case list(), list() if len(recorded) == len(now):
            pairs = zip(recorded, now, strict=True)
            return [
                fault
                for place, (one, other) in enumerate(pairs)
                for fault in lacking(one, other, f"{path}[{place}]")
            ]
        case _:
            return [] if recorded == now else [f"{path}: {recorded!r} is now {now!r}"]
