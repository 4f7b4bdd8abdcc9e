"""The supported Pythons that this machine has."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")

# The lab's own Debian systems bring a Python each.
LABS = Path(os.environ.get("DISPATCH_LAB_DIR") or "/var/tmp/dispatch-lab")


def pythons() -> dict[str, list[str]]:
    """Return the command of each supported Python that runs here, this one first."""
    found = {_version([sys.executable]): [sys.executable]}
    for version in VERSIONS:
        for command in _candidates(version):
            if version not in found and _version(command) == version:
                found[version] = command
    return found


def _candidates(version: str) -> list[list[str]]:
    name = f"python{version}"
    commands: list[list[str]] = []
    path = Path(shutil.which(name) or "/")
    if path.parent.name == "shims":  # pyenv's, which run only the version that is chosen
        commands += [[str(one)] for one in path.parents[1].glob(f"versions/{version}.*/bin/python")]
    elif path.name:
        commands.append([str(path)])
    for root in LABS.glob("*"):
        library = root / "usr/lib/x86_64-linux-gnu"
        loader, python = library / "ld-linux-x86-64.so.2", root / "usr/bin" / name
        if loader.exists() and python.exists():
            home = ["env", f"PYTHONHOME={root}/usr"]
            commands.append([*home, str(loader), "--library-path", str(library), str(python)])
    return commands


def _version(command: list[str]) -> str:
    script = "import sys; print('%d.%d' % sys.version_info[:2])"
    ran = subprocess.run([*command, "-c", script], check=False, capture_output=True, text=True)
    return ran.stdout.strip()
