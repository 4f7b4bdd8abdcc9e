"""The pages of the reference that are generated say what the code says today, and those by hand leave nothing out."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from dispatch.cli.reference import reference
from dispatch.model.status import Cause
from docs.blocks import ROOT
from docs.fields import field_table
from docs.generate import PAGES, REFERENCE
from docs.texts import TEXTS


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    assert (REFERENCE / name).read_text() == PAGES[name](), "run `python3 dev.py docs`"


def test_the_reference_of_the_command_line_is_up_to_date() -> None:
    assert (REFERENCE / "cli.md").read_text() == reference()


def test_a_field_without_a_meaning_is_noticed() -> None:
    kind, texts = next(iter(TEXTS.items()))
    with pytest.raises(ValueError, match="meanings are for"):
        field_table(kind, dict(list(texts.items())[1:]))


def test_every_cause_is_described() -> None:
    page = (REFERENCE / "causes.md").read_text()
    assert not [cause for cause in Cause if f"| `{cause}` |" not in page]


def test_the_page_on_the_environment_names_what_the_job_script_exports_and_nothing_else() -> None:
    script = (
        resources.files("dispatch.adapters.slurm.jobscript").joinpath("body.sh").read_text("utf-8")
    )
    exported = {
        name
        for line in script.splitlines()
        if line.strip().startswith(("export ", "[ -z")) and "export" in line
        for name in re.findall(r"\b([A-Z][A-Z0-9_]+)=", line)
    }
    page = (ROOT / "docs" / "reference" / "environment.md").read_text()
    described = set(re.findall(r"^\| `([A-Z][A-Z0-9_]+)`", page, re.MULTILINE))
    assert described == exported - {"SLURM_EXPORT_ENV"}
