"""The index of the pages: the README leads to it, and it leads to every kind of page; ``test_links`` follows the rest."""

from __future__ import annotations

import re

from docs.blocks import ROOT

DOCS = ROOT / "docs"
INDEX = (DOCS / "README.md").read_text()
LINKS = frozenset(re.findall(r"\]\(([^)\s#]+)\)", INDEX))


def test_the_readme_leads_to_the_index() -> None:
    assert "](docs/README.md)" in (ROOT / "README.md").read_text()


def test_the_index_leads_to_every_kind_of_page() -> None:
    kinds = {place.name for place in DOCS.iterdir() if place.is_dir()}
    assert {kind for kind in kinds if kind in LINKS or any(link.startswith(f"{kind}/") for link in LINKS)} == kinds  # fmt: skip


def test_every_explanation_has_its_place_in_the_order() -> None:
    pages = {f"explanation/{page.name}" for page in (DOCS / "explanation").glob("*.md")}
    assert pages <= LINKS, "docs/README.md says in which order the explanations are read"
