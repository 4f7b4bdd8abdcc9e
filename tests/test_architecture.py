"""The house rules, as far as a program can see them; import-linter sees to the layers."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parent.parent
LONGEST_FILE = 400
LONGEST_FUNCTION = 60

# What a pure module may not import: clocks, chance, input and output, threads of control.
# fmt: off
IMPURE = {
    "asyncio", "concurrent", "glob", "http", "io", "logging", "multiprocessing", "os", "random",
    "secrets", "select", "selectors", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess",
    "tempfile", "threading", "time", "urllib", "uuid",
}
# fmt: on
CLOCKS = {"now", "utcnow", "today"}
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|pragma: no" + r" cover")


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each module that is imported."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, name.name) for name in names)
            case ast.ImportFrom(module=str(module), level=0, names=names):
                yield node.lineno, module
                yield from ((node.lineno, f"{module}.{name.name}") for name in names)
            case _:
                pass


def reading_the_world(source: str) -> Iterator[str]:
    """A pure module imports nothing impure, and asks no class for the time."""
    tree = ast.parse(source)
    for line, module in imports(tree):
        if module.partition(".")[0] in IMPURE:
            yield f"{line}: imports {module}"
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="datetime" | "date" | "dt"), attr=attr):
                if attr in CLOCKS:
                    yield f"{node.lineno}: reads a clock; take `now` as an argument"
            case ast.Attribute(value=ast.Attribute(attr="datetime" | "date"), attr=attr):
                if attr in CLOCKS:
                    yield f"{node.lineno}: reads a clock; take `now` as an argument"
            case ast.Call(func=ast.Name(id="open" | "input" | "print" as name)):
                yield f"{node.lineno}: calls {name}"
            case _:
                pass


def a_long_file(source: str) -> Iterator[str]:
    """A file is read in one sitting."""
    lines = len(source.splitlines())
    if lines > LONGEST_FILE:
        yield f"{lines} lines, more than {LONGEST_FILE}: cut it in two along a concept"


def a_long_function(source: str) -> Iterator[str]:
    """A function fits on a screen."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > LONGEST_FUNCTION:
                yield f"{node.lineno}: {node.name} has {lines} lines, more than {LONGEST_FUNCTION}"


def unfinished_work(source: str) -> Iterator[str]:
    """What is left to do is an issue; what is not covered is tested or removed."""
    for number, line in enumerate(source.splitlines(), 1):
        if found := UNFINISHED.search(line):
            yield f"{number}: says {found.group()!r}"


def a_mock(source: str) -> Iterator[str]:
    """Tests use fakes that pass the suite of what they fake, not mocks that believe the test."""
    for line, module in imports(ast.parse(source)):
        if module == "mock" or module.startswith(("unittest.mock", "pytest_mock")):
            yield f"{line}: imports {module}"


def a_real_sleep(source: str) -> Iterator[str]:
    """A test of simulated time does not wait for the real one."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id="time"), attr="sleep"):
                yield f"{node.lineno}: calls time.sleep"
            case ast.ImportFrom(module="time", names=names) if "sleep" in {n.name for n in names}:
                yield f"{node.lineno}: imports time.sleep"
            case _:
                pass


def files(*patterns: str) -> list[Path]:
    """Return the project's files that match, generated ones left out."""
    found = {path for pattern in patterns for path in ROOT.glob(pattern)}
    return sorted(path for path in found if "__pycache__" not in path.parts)


ALL = files("src/**/*.py", "tests/**/*.py", "lab/**/*.py", "benchmarks/*.py", ".ci/*.py", "dev.py")
PURE = files(
    "src/dispatch/model/**/*.py",
    "src/dispatch/core/**/*.py",
    "src/dispatch/adapters/*/wire*.py",
    "src/dispatch/adapters/*/wire/*.py",
    "src/dispatch/adapters/*/classify*.py",
)
TESTS = files("tests/**/*.py")
SIMULATED = [path for path in TESTS if "slurm" not in path.parts]  # a real Slurm takes real time


@pytest.mark.parametrize(
    ("rule", "where"),
    [
        pytest.param(reading_the_world, PURE, id="the_pure_parts_read_nothing_of_the_world"),
        pytest.param(a_long_file, ALL, id="files_are_short"),
        pytest.param(a_long_function, ALL, id="functions_are_short"),
        pytest.param(unfinished_work, ALL, id="nothing_is_left_unfinished"),
        pytest.param(a_mock, TESTS, id="there_are_no_mocks"),
        pytest.param(a_real_sleep, SIMULATED, id="no_test_sleeps"),
    ],
)
def test_the_house_rules_hold(rule: Callable[[str], Iterator[str]], where: list[Path]) -> None:
    broken = [
        f"{path.relative_to(ROOT)}:{fault}" for path in where for fault in rule(path.read_text())
    ]
    assert not broken, "\n".join([rule.__doc__ or "", *broken])


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (reading_the_world, "import time"),
        (reading_the_world, "from os import environ"),
        (reading_the_world, "import asyncio.events"),
        (reading_the_world, "from datetime import datetime\ndatetime.now()"),
        (reading_the_world, "import datetime\ndatetime.datetime.now(datetime.UTC)"),
        (reading_the_world, "import datetime\ndatetime.date.today()"),
        (reading_the_world, "open('x')"),
        (a_long_file, "\n" * 401),
        (a_long_function, "def f():\n" + "    1\n" * 60),
        (a_long_function, "class A:\n    async def f():\n" + "        1\n" * 60),
        (unfinished_work, "x = 1  # TO" + "DO"),
        (unfinished_work, "if x:  # pragma: no" + " cover"),
        (a_mock, "from unittest import mock"),
        (a_mock, "import unittest.mock"),
        (a_real_sleep, "import time\ntime.sleep(1)"),
        (a_real_sleep, "from time import sleep"),
    ],
)
def test_a_rule_sees_what_breaks_it(rule: Callable[[str], Iterator[str]], source: str) -> None:
    assert list(rule(source))


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (
            reading_the_world,
            "from datetime import datetime\nx: datetime\ndatetime.fromtimestamp(0)",
        ),
        (reading_the_world, "from dispatch.model import time"),
        (a_long_file, "\n" * 400),
        (a_long_function, "def f():\n" + "    1\n" * 59),
        (unfinished_work, "todos = method()"),
        (a_real_sleep, "import asyncio\nasyncio.sleep(1)"),
    ],
)
def test_a_rule_lets_pass_what_keeps_it(rule: Callable[[str], Iterator[str]], source: str) -> None:
    assert not list(rule(source))


def test_the_locks_name_no_host() -> None:
    locks = files("requirements/*.lock")
    assert locks
    assert not [path for path in locks if "://" in path.read_text()]
