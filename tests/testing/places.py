"""A project of somebody's, in which pytest runs with the plugin."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = "dispatch.testing.pytest_plugin"


@dataclass
class Place:
    """A directory with tests."""

    path: Path

    def run(
        self, source: str, *arguments: str, ini: str = "", installed: bool = False
    ) -> tuple[int, str]:
        """Run pytest on one file; return its code and what it said.

        ``installed``: with all the plugins that are, and ours among them; otherwise with ours alone.
        """
        (self.path / "test_it.py").write_text(textwrap.dedent(source))
        (self.path / "pytest.ini").write_text(f"[pytest]\naddopts = --strict-markers\n{ini}")
        options = [
            "-v",
            "-p",
            "no:cacheprovider",
            *([] if installed else ["-p", PLUGIN]),
            *arguments,
        ]
        path = os.pathsep.join([str(self.path), str(ROOT / "src")])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        if not installed:
            environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", *options],
            check=False,
            capture_output=True,
            text=True,
            cwd=self.path,
            env=environment,
        )
        return ran.returncode, ran.stdout + ran.stderr
