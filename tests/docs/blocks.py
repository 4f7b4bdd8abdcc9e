"""The fenced blocks of the pages: their language, their text and the mark that stands before them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

_OPEN = re.compile(r"(?P<indent> *)```(?P<language>[A-Za-z0-9]*)")
_MARK = re.compile(r"<!-- (?P<mark>[a-z][a-z0-9:./ -]*) -->")


class Block(NamedTuple):
    """One fenced block, where it stands, and the mark in a comment before it (empty where there is none)."""

    page: Path
    line: int
    language: str
    text: str
    mark: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """List the pages whose blocks are checked: the README, what contributors read, and docs."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def blocks_of(page: Path) -> list[Block]:
    """Find the fenced blocks of a page; a fence that is never closed is an error."""
    found: list[Block] = []
    lines, mark = page.read_text().split("\n"), ""
    rest = iter(enumerate(lines, 1))
    for number, line in rest:
        if opened := _OPEN.fullmatch(line):
            indent, text = opened["indent"], list[str]()
            for _, inner in rest:
                if inner == f"{indent}```":
                    break
                text.append(inner.removeprefix(indent))
            else:
                raise AssertionError(f"{page}:{number}: the fence is never closed")
            found.append(Block(page, number, opened["language"], "\n".join(text) + "\n", mark))
        if line.strip():
            marked = _MARK.fullmatch(line.strip())
            mark = marked["mark"] if marked else ""
    return found


def all_blocks(*languages: str) -> list[Block]:
    """List the blocks of these languages over all pages; of all languages where none is named."""
    found = [block for page in pages() for block in blocks_of(page)]
    return [block for block in found if not languages or block.language in languages]
