#!/usr/bin/env python3
"""The one entry point for developers: `python3 dev.py` lists the recipes.

Needs nothing but Python 3.11: each recipe sets up what it uses. Why not make, just or
nox: docs/decisions/0004.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / "bin"
STAMP = VENV / "dispatch-dev.stamp"
RUN_LOCK = ROOT / "requirements" / "run.lock"
DEV_LOCK = ROOT / "requirements" / "dev.lock"
MINIMUM = (3, 11)


class Refusal(Exception):
    """What a recipe cannot do; the text says what to do about it."""


# ------------------------------------------------------------------------------ running


def say(text: str) -> None:
    """Print a line on standard error, so that a recipe's output can be piped."""
    print(text, file=sys.stderr, flush=True)


def call(*command: str | Path, env: dict[str, str] | None = None) -> int:
    """Run a command in the project's root; return its exit code."""
    words = [str(word) for word in command]
    return subprocess.run(
        words, cwd=ROOT, env={**os.environ, **(env or {})}, check=False
    ).returncode


def must(*command: str | Path, env: dict[str, str] | None = None) -> None:
    """Run a command quietly; refuse, showing what it printed, when it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Refusal(f"{done.stdout.rstrip()}\n\n`{' '.join(words)}` failed ({done.returncode})")


def present(*names: str) -> list[str]:
    """Return those of the named paths which hold a Python file."""

    def holds_python(path: Path) -> bool:
        return path.is_file() or any(path.rglob("*.py"))

    return [name for name in names if holds_python(ROOT / name)]


def in_stages(stages: Sequence[tuple[str, Sequence[str | Path]]]) -> int:
    """Run every stage, also after one that failed; print a table; return 0 when all passed."""
    rows: list[str] = []
    failed = False
    for name, command in stages:
        say(f"── {name}")
        began = time.monotonic()
        code = call(*command)
        failed |= code != 0
        rows.append(
            f"{'ok    ' if code == 0 else 'FAILED'} {time.monotonic() - began:6.1f} s  {name}"
        )
    say("\n" + "\n".join(rows))
    return int(failed)


# -------------------------------------------------------------------------------- setup


def refuse_an_unfit_python() -> None:
    """Refuse, with the remedy, a Python which is too old or has no venv."""
    if sys.version_info < MINIMUM:
        names = ["python3.14", "python3.13", "python3.12", "python3.11"]
        newer = [
            name for name in names if shutil.which(name)
        ]  # and nothing newer than 3.7's syntax
        remedy = f"use `{newer[0]} dev.py …`" if newer else "install Python 3.11 or newer"
        raise Refusal(f"This is Python {sys.version.split()[0]}, dispatch needs 3.11: {remedy}.")
    if importlib.util.find_spec("ensurepip") is None:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        raise Refusal(
            "This Python cannot make virtual environments, since it lacks `ensurepip`.\n"
            f"On Debian or Ubuntu: apt-get install {package}"
        )


def fingerprint() -> str:
    """Name everything that the environment is made from."""
    parts = [str(ROOT), sys.version, DEV_LOCK.read_text(), (ROOT / "pyproject.toml").read_text()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def is_editable() -> bool:
    """Tell whether the environment runs this tree, not a copy that `pip install .` made."""
    for origin in VENV.glob("lib/python3*/site-packages/dispatch_jobs-*.dist-info/direct_url.json"):
        said = json.loads(origin.read_text())
        return bool(said.get("dir_info", {}).get("editable")) and said["url"] == ROOT.as_uri()
    return False


@contextmanager
def alone() -> Generator[None]:
    """Let one setup at a time touch the environment."""
    with Path(__file__).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def prepare() -> None:
    """Make `.venv` from the lock, with hashes, and install the project editable; else do nothing."""
    refuse_an_unfit_python()
    with alone():
        wanted = fingerprint()
        if STAMP.is_file() and STAMP.read_text() == wanted and is_editable():
            return
        began = time.monotonic()
        say(f"setting up {VENV} …")
        minor = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        if not (BIN / minor).exists() or not (BIN / "pip").exists():
            venv.create(VENV, clear=VENV.exists(), with_pip=True)
        STAMP.unlink(missing_ok=True)
        pip = (BIN / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
        must(*pip, "--require-hashes", "--requirement", DEV_LOCK)
        must(*pip, "--no-deps", "--no-build-isolation", "--editable", ROOT)
        STAMP.write_text(wanted)
        say(f"set up in {time.monotonic() - began:.0f} s")


# ------------------------------------------------------------------------------ recipes


def setup(_: list[str]) -> int:
    """Create .venv from the lock and install the project editable (at once when nothing changed)."""
    prepare()
    return 0


def test(arguments: list[str]) -> int:
    """Run the whole test suite, real Slurm included; arguments go to pytest."""
    prepare()
    return call(BIN / "python", "-m", "pytest", *arguments)


def slurm(arguments: list[str]) -> int:
    """Run the real-Slurm tests, where a skip is a failure; arguments go to pytest."""
    prepare()
    env = {"DISPATCH_REQUIRE_SLURM": "1"}
    return call(BIN / "python", "-m", "pytest", "-m", "slurm", *arguments, env=env)


def chaos(arguments: list[str]) -> int:
    """Submit, kill and pause everything on a real Slurm, and judge what became of it (`--jobs 300 --seed 7`)."""
    prepare()
    paths = {"PYTHONPATH": os.pathsep.join(("src", "tests", "."))}
    return call(BIN / "python", "-m", "chaos.run", *arguments, env=paths)


def check(arguments: list[str]) -> int:
    """Format, lint, types and import contracts; `check --fix` repairs what can be repaired."""
    if arguments not in ([], ["--fix"]):
        raise Refusal("check takes no argument but --fix")
    prepare()
    if arguments:
        call(BIN / "ruff", "check", "--fix", "--quiet", ".")
        call(BIN / "ruff", "format", "--quiet", ".")
    python = present("src", "tests", "lab", "benchmarks", ".ci", "dev.py")
    return in_stages(
        [
            ("format", [BIN / "ruff", "format", "--check", "--quiet", "--diff", "."]),
            ("lint", [BIN / "ruff", "check", "--quiet", "."]),
            ("mypy", [BIN / "mypy", "--no-error-summary", *python]),
            ("pyright", [BIN / "pyright", *python]),
            ("imports", [BIN / "lint-imports", "--no-cache", "--no-logo"]),
        ]
    )


def cover(arguments: list[str]) -> int:
    """Fail below 100 % branch coverage of the pure core, with no pragma; arguments go to pytest."""
    prepare()
    measured = call(
        *(BIN / "python", "-m", "pytest", "-m", "not slurm", "-q"),
        *("--cov", "--cov-branch", "--cov-report=", *arguments),
    )
    if measured:
        return measured
    report = (BIN / "coverage", "report")
    call(*report, "--format=total")
    return call(*report, "--include=src/dispatch/core/*", "--fail-under=100")


def mutate(arguments: list[str]) -> int:
    """Change the pure core a little, many times, and list the changes that no test notices."""
    prepare()
    code = call(BIN / "mutmut", "run", *arguments)
    return code or call(BIN / "mutmut", "results")


def rules(arguments: list[str]) -> int:
    """Break each rule of the protocol in a copy of the tree (or those named): its tests must go red."""
    prepare()
    return call(BIN / "python", "-m", "rules.breaking", *arguments, env={"PYTHONPATH": "tests"})


def bench(arguments: list[str]) -> int:
    """Run the measurements in benchmarks/ (or those named), each a script which prints its figures."""
    prepare()
    scripts = sorted((ROOT / "benchmarks").glob("*.py"))
    chosen = [path for path in scripts if not arguments or path.stem in arguments]
    if not chosen:
        raise Refusal(
            f"benchmarks/ has no such script; there are: {[path.stem for path in scripts]}"
        )
    return max(call(BIN / "python", path) for path in chosen)


def docs(_: list[str]) -> int:
    """Write the generated pages of docs/reference anew, from the model and the tables of the code."""
    prepare()
    paths = {"PYTHONPATH": os.pathsep.join(("src", "tests", "."))}
    return call(BIN / "python", "-m", "docs.generate", env=paths)


def lock(arguments: list[str]) -> int:
    """Resolve requirements/*.lock again, for Python 3.11 to 3.14, with hashes (`lock --upgrade`)."""
    refuse_an_unfit_python()
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        must(f"{place}/bin/pip", "--disable-pip-version-check", "install", "--quiet", "uv")
        compile_ = (
            *(f"{place}/bin/uv", "pip", "compile", "pyproject.toml", "--quiet"),
            *("--universal", "--python-version", "3.11", "--generate-hashes"),
            *("--no-emit-index-url", "--no-emit-find-links"),  # a lock names no host
            *("--custom-compile-command", "python3 dev.py lock", *arguments),
        )
        index = os.environ.get("PIP_INDEX_URL")
        env = {"UV_DEFAULT_INDEX": index} if index else {}
        must(*compile_, "--output-file", RUN_LOCK, env=env)
        must(*compile_, "--group", "dev", "-c", RUN_LOCK, "--output-file", DEV_LOCK, env=env)
    for path in (RUN_LOCK, DEV_LOCK):
        if "://" in path.read_text():
            raise Refusal(f"{path} names a host, which it must not")
    return 0


def ci(_: list[str]) -> int:
    """Run what the continuous integration runs: .ci/run."""
    return call("bash", ".ci/run")


def readme_block(arguments: list[str]) -> int:
    """Print the shell block of README.md which is marked `<!-- ci: NAME -->`."""
    if len(arguments) != 1:
        raise Refusal("readme-block takes one name")
    print(block_of((ROOT / "README.md").read_text(), arguments[0]))
    return 0


def block_of(text: str, name: str) -> str:
    """Return the one fenced block that follows the comment `<!-- ci: NAME -->` in Markdown.

    Raises Refusal when there is none, or more than one: CI must never run less than it says.
    """
    mark = rf"^<!-- ci: {re.escape(name)} -->\n+```(?:bash|sh|shell|console)?\n(.*?)^```$"
    found: list[str] = re.findall(mark, text, re.MULTILINE | re.DOTALL)
    if len(found) != 1:
        raise Refusal(f"found {len(found)} blocks marked `<!-- ci: {name} -->`, not one")
    return found[0].strip()


RECIPES: dict[str, Callable[[list[str]], int]] = {
    "setup": setup,
    "check": check,
    "test": test,
    "cover": cover,
    "slurm": slurm,
    "chaos": chaos,
    "mutate": mutate,
    "rules": rules,
    "bench": bench,
    "docs": docs,
    "lock": lock,
    "ci": ci,
    "readme-block": readme_block,
}


def usage() -> str:
    """Return the list of recipes."""
    lines = ["usage: python3 dev.py RECIPE [ARGUMENT …]", ""]
    for name, recipe in RECIPES.items():
        lines.append(f"  {name:13} {(recipe.__doc__ or '').splitlines()[0]}")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Run one recipe; return its exit code (2: no such recipe, or it cannot be done here)."""
    if not arguments or arguments[0] in {"help", "-h", "--help"}:
        print(usage())
        return 0
    recipe = RECIPES.get(arguments[0])
    if recipe is None:
        say(f"dev.py: no recipe {arguments[0]!r}\n\n{usage()}")
        return 2
    try:
        return recipe(arguments[1:])
    except Refusal as refusal:
        say(f"dev.py {arguments[0]}: {refusal}")
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
