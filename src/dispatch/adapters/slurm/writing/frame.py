"""The frame of a write: the script with its prelude, and its answer cut into sections."""

from __future__ import annotations

import re
from importlib import resources

from dispatch.adapters.slurm.writing.shown import Shown
from dispatch.model.base import Value
from dispatch.spi.transport import Completed


class Section(Value):
    """What one command of a script said. ``rc`` is ``None`` where the answer breaks off before its end.

    ``shown`` is the object that it shows, where that was cut out of a look at many.
    """

    name: str
    out: str
    err: str
    rc: int | None = None
    shown: Shown | None = None


class Answer(Value):
    """What a write script said. ``began`` is its host's clock in Unix milliseconds; ``None``, it never spoke.

    ``mark`` is what no object's fields have in them by chance.
    """

    sections: tuple[Section, ...]
    began: int | None
    returncode: int
    mark: str = ""

    def section(self, *names: str) -> Section | None:
        """The last section that has one of these names."""
        return next((one for one in reversed(self.sections) if one.name in names), None)

    @property
    def expired(self) -> bool:
        """Whether the script began after its deadline, and did nothing."""
        return self.section("expired") is not None

    @property
    def cut(self) -> bool:
        """Whether the answer breaks off: a command began and its end was not told."""
        last = self.sections[-1] if self.sections else None
        return last is not None and last.rc is None and last.name not in _MARKS


_MARKS = ("expired", "foreign", "workdir")
"""Sections that say something by their name alone."""


def compose(*parts: str) -> str:
    """Put the named parts behind the prelude."""
    return "".join(_text(part) for part in ("prelude", *parts))


def read_answer(mark: str, completed: Completed) -> Answer:
    """Cut the answer of a script into its sections; what was printed before the first is somebody's banner."""
    errors = {name: text for name, text, _ in _cut(mark, completed.err)}
    sections = [
        Section(name=name, out=text, err=errors.get(name, ""), rc=rc)
        for name, text, rc in _cut(mark, completed.out)
    ]
    clocks = [one.name.removeprefix("clock ") for one in sections if one.name.startswith("clock ")]
    return Answer(
        sections=tuple(one for one in sections if not one.name.startswith("clock ")),
        began=int(clocks[0]) if clocks and clocks[0].isdecimal() else None,
        returncode=completed.returncode,
        mark=mark,
    )


def _cut(mark: str, text: str) -> list[tuple[str, str, int | None]]:
    parts = re.split(rf"^{re.escape(mark)} (.*)\n", text, flags=re.MULTILINE)
    cut: list[tuple[str, str, int | None]] = []
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        if title.startswith("rc "):
            name, said, _ = cut.pop()
            cut.append((name, said, int(title.removeprefix("rc "))))
        else:
            cut.append((title, body.removesuffix("\n"), None))
    return cut


def _text(part: str) -> str:
    return (
        resources.files("dispatch.adapters.slurm.writing")
        .joinpath(f"{part}.sh")
        .read_text(encoding="utf-8")
    )
