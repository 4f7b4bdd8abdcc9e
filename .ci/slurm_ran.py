"""Prove from a JUnit report that the real-Slurm tests ran: a suite that skips itself is green too.

usage: slurm_ran.py REPORT ALLOWED      fails when none ran, or one was skipped for a reason that
                                        stands in no line of ALLOWED
       slurm_ran.py --totals REPORT     prints "N passed, N failed, N skipped"
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def cases_of(report: Path) -> list[ET.Element]:
    """Return every test case of the report."""
    return list(ET.parse(report).iter("testcase"))  # noqa: S314 - pytest wrote it a moment ago


def is_slurms(case: ET.Element) -> bool:
    """Tell whether a case is marked `slurm`, or is a file of theirs that skipped itself whole."""
    marked = any(entry.get("name") == "slurm" for entry in case.iter("property"))
    names = (case.get("classname") or "", case.get("name") or "")
    return marked or any(name.startswith("tests.slurm") for name in names)


def objections(cases: list[ET.Element], allowed: list[str]) -> list[str]:
    """Return why the real-Slurm tests cannot be said to have run; empty when they did."""
    chosen = [case for case in cases if is_slurms(case)]
    skipped = [(case, mark) for case in chosen for mark in case.iter("skipped")]
    found = [
        f"{case.get('classname')}::{case.get('name')} was skipped: {mark.get('message')}"
        for case, mark in skipped
        if not any(reason in (mark.get("message") or "") for reason in allowed)
    ]
    if len(chosen) == len(skipped):
        found.append("no real-Slurm test ran")
    return found


def reasons_in(path: Path) -> list[str]:
    """Return the allowed reasons: the lines that are neither empty nor a comment."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def totals(cases: list[ET.Element]) -> str:
    """Return the closing line of the whole run."""
    failed = sum(
        case.find("failure") is not None or case.find("error") is not None for case in cases
    )
    skipped = sum(case.find("skipped") is not None for case in cases)
    return f"{len(cases) - failed - skipped} passed, {failed} failed, {skipped} skipped"


def main(arguments: list[str]) -> int:
    """Do what the usage says; return the exit code."""
    if arguments[0] == "--totals":
        print(totals(cases_of(Path(arguments[1]))))
        return 0
    cases = cases_of(Path(arguments[0]))
    found = objections(cases, reasons_in(Path(arguments[1])))
    chosen = [case for case in cases if is_slurms(case)]
    print("\n".join(found) or f"of the real-Slurm tests: {totals(chosen)}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
