"""Break each rule in a copy of the tree, and see its tests go red: ``python3 dev.py rules [RULE …]``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rules.sabotage import SABOTAGES, Sabotage

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("src", "tests", "lab", "docs", "pyproject.toml", "dev.py")
FAILED = 1
"""Pytest's code where tests ran and failed; any other says that they did not run."""


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def run(copy: Path, tests: tuple[str, ...]) -> tuple[int, str]:
    """Run tests in the copy, on the copy's own sources."""
    paths = {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests],
        cwd=copy,
        env={**os.environ, **paths},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def notices(copy: Path, sabotage: Sabotage) -> bool:
    """Whether the tests go red with the sabotage; each of them, alone."""
    path = copy / sabotage.file
    whole = path.read_text()
    path.write_text(whole.replace(sabotage.old, sabotage.new, 1))
    try:
        codes = [run(copy, (test,))[0] for test in sabotage.tests]
    finally:
        path.write_text(whole)
    verdict = "red" if set(codes) == {FAILED} else f"NOT RED {codes}"
    say(f"{sabotage.rule:3} {verdict:8} {sabotage.file}: {sabotage.old.strip()[:70]}")
    return set(codes) == {FAILED}


def main(chosen: list[str]) -> int:
    """Print a line for each sabotage and the figures; 0 where the tests are green without and red with each."""
    sabotages = [one for one in SABOTAGES if not chosen or one.rule in chosen]
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place)
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, copy / name)
            else:
                shutil.copy(ROOT / name, copy / name)
        tests = tuple(dict.fromkeys(test for one in sabotages for test in one.tests))
        code, said = run(copy, tests)
        if code:
            say(f"Unbroken, the tests are not green:\n{said}")
            return 1
        red = sum([notices(copy, one) for one in sabotages])
    rules = {one.rule for one in sabotages}
    say(f"{len(rules)} rules, {len(sabotages)} sabotages, {red} red")
    return int(red != len(sabotages))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
