"""The tutorial on a real Slurm: its files, its commands in their order, and what they print.

``DISPATCH_WRITE_TUTORIAL=1`` writes what was printed into the page; else it is compared, names and times aside. How far a job
is at a moment is chance, so of some blocks only the first or the last lines are compared, as a mark before them says.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.blocks import ROOT, Block, blocks_of
from lab import Lab
from slurm.conftest import bring_up

pytestmark = pytest.mark.slurm

PAGE = ROOT / "docs" / "tutorial" / "first-job.md"
HOME = "/home/you"
WRITE = os.environ.get("DISPATCH_WRITE_TUTORIAL") == "1"
DISPATCH = Path(sys.executable).with_name("dispatch")

ALIKE = (
    (r"[0-7][0-9A-HJKMNP-TV-Z]{25}", "ID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
    (r"\b[12]\d{9}\b", "SECONDS"),
    (r"\b[0-9a-f]{16}\b", "TOKEN"),
    (r" \d+[smhd] ", " AGE "),
    (r" {2,}", "  "),
)


PATIENCE = "waiting for the scheduler …"
"""Printed by commands whose calls take more than a second."""


def alike(text: str) -> list[str]:
    """The lines of an output without what is another each time, and without what is said only where it takes a while."""
    for pattern, word in ALIKE:
        text = re.sub(pattern, word, text)
    return [line.strip() for line in text.splitlines() if line != PATIENCE]


class Login:
    """A person at the login node: dispatch on this host, its commands to Slurm through the lab's login."""

    def __init__(self, lab: Lab, place: Path) -> None:
        self.lab = lab
        self.home = place / "home"
        self.supervisor: subprocess.Popen[bytes] | None = None
        config = self.home / ".config" / "dispatch" / "config.toml"
        config.parent.mkdir(parents=True)
        through = str(lab.login("alice"))
        config.write_text(
            '[clusters.mycluster]\nadapter = "slurm"\n'
            f"settings = {{transport = {{through = [{through!r}]}}, saveWindow = '2s', killMargin = '1s'}}\n"
        )
        path = f"{DISPATCH.parent}:{os.environ['PATH']}"
        self.env = {**os.environ, "HOME": str(self.home), "LOGNAME": "you", "PATH": path}

    def write(self, name: str, text: str) -> None:
        """Write a file of the page: below a directory, into the home on the cluster; else here."""
        if "/" not in name:
            (self.home / name).write_text(text)
            return
        put = f'cd && mkdir -p "$(dirname {name})" && cat > {name}'
        self.lab.run("alice", ["sh", "-c", put], input=text.encode(), check=True)

    def run(self, line: str) -> str:
        """Run one command line of the page, and return what it prints, as the page shows it."""
        words = shlex.split(line)
        if words[0] == "tmux":
            self.supervisor = subprocess.Popen(
                shlex.split(words[-1]), cwd=self.home, env=self.env, stderr=subprocess.DEVNULL
            )
            self.until("dispatch status", gone="Nobody supervises")
            return ""
        done = subprocess.run(
            words, cwd=self.home, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=180, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}: {done.stdout}"
        return done.stdout.rstrip("\n").replace(str(self.home), HOME)

    def until(self, line: str, *, told: str = "", gone: str = "\0") -> str:
        """Run a command line again and again until it tells the one and no more the other; the bound is an error."""
        begin = time.monotonic()
        while told not in (said := self.run(line)) or gone in said:
            assert time.monotonic() - begin < 60, f"{line} still says after a minute: {said}"
        return said

    def leave(self) -> None:
        """End what was started."""
        if self.supervisor is not None:
            self.supervisor.terminate()
            self.supervisor.wait(30)


@pytest.fixture
def login(tmp_path: Path) -> Iterator[Login]:
    lab = bring_up(accounting=True)
    login = Login(lab, tmp_path)
    yield login
    login.leave()
    lab.down()


def test_the_tutorial_prints_what_its_page_shows(login: Login) -> None:
    page = PAGE.read_text()
    for block in blocks_of(PAGE):
        if block.mark.startswith("file: "):
            login.write(block.mark.removeprefix("file: "), block.text)
        elif block.language == "console":
            command, _, shown = block.text.partition("\n")
            line = command.removeprefix("$ ")
            # What a person reads a little later, the test may have to ask for twice.
            told = "Unsatisfiable" if line == "dispatch show --why big" else ""
            said = login.until(line, told=told)
            page = page.replace(block.text, f"{command}\n{said}\n" if said else f"{command}\n")
            if not WRITE:
                compare(block, said, shown)
    if WRITE:
        PAGE.write_text(page)


def compare(block: Block, said: str, shown: str) -> None:
    """Compare what was printed with what the page shows: all of it, or as many lines as the mark says."""
    found, expected = alike(said), alike(shown)
    match block.mark.split():
        case ["same:", "first", number]:
            found, expected = found[: int(number)], expected[: int(number)]
        case ["same:", "last", number]:
            found, expected = found[-int(number) :], expected[-int(number) :]
        case _:
            pass
    assert found == expected, str(block)
