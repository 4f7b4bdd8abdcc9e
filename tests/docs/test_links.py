"""A link to a heading leads to a heading; ``test_readme`` checks the files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.blocks import ROOT, pages


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path, text: str) -> list[str]:
    links = re.findall(r"\]\(([^)\s#]*)#([^)\s]+)\)", text)
    return [
        f"{target}#{anchor}"
        for target, anchor in links
        if "://" not in target
        and anchor not in anchors((page.parent / target).resolve() if target else page)
    ]


@pytest.mark.parametrize("page", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_link_to_a_heading_leads_to_one(page: Path) -> None:
    assert broken(page, prose(page)) == []


def test_a_broken_anchor_is_seen() -> None:
    page = ROOT / "docs" / "how-to" / "supervise.md"
    assert broken(page, "[a](#by-cron) [b](#by-hand) [c](../reference/causes.md#nothing)") == [
        "#by-hand",
        "../reference/causes.md#nothing",
    ]


def test_every_page_can_be_reached_from_the_readme() -> None:
    found, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        place = waiting.pop()
        found.add(place)
        if place.is_dir():
            waiting += [page for page in place.glob("*.md") if page not in found]
            continue
        links = re.findall(r"\]\(([^)\s#:]+)", prose(place))
        targets = [(place.parent / link).resolve() for link in links]
        waiting += [target for target in targets if target not in found and is_ours(target)]
    assert not set(pages()) - found


def is_ours(target: Path) -> bool:
    return target.is_dir() or (target.suffix == ".md" and target.exists())
