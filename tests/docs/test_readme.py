"""The README's commands are what continuous integration runs, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dev import Refusal, block_of

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
BLOCK = "<!-- ci: tests -->\n```sh\npython3 dev.py test\n```\n"


def test_a_block_is_found_by_its_mark() -> None:
    other = "```sh\nrm -rf /\n```\n<!-- ci: first-minute -->\n\n```bash\necho 1\necho 2\n```\n"
    assert block_of(other + BLOCK, "tests") == "python3 dev.py test"
    assert block_of(other + BLOCK, "first-minute") == "echo 1\necho 2"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("```sh\npython3 dev.py test\n```\n", id="no_mark"),
        pytest.param("<!-- ci: tests -->\nsome words\n" + BLOCK[19:], id="words_between"),
        pytest.param(BLOCK.replace("sh", "python", 1), id="another_language"),
        pytest.param(BLOCK + BLOCK, id="two_blocks"),
        pytest.param(BLOCK.removesuffix("```\n"), id="an_open_fence"),
    ],
)
def test_a_block_that_is_not_there_once_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        block_of(text, "tests")


def test_the_first_minute_is_one_command() -> None:
    assert block_of(README, "first-minute") == (
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/dispatch demo"
    )


def test_the_second_command_runs_the_tests() -> None:
    assert block_of(README, "tests") == "python3 dev.py test"


@pytest.mark.parametrize(
    "page",
    sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_a_relative_link_leads_to_a_file(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", prose)]
    relative = [link for link in links if link and "://" not in link and ":" not in link]
    assert not [link for link in relative if not (page.parent / link).exists()]
