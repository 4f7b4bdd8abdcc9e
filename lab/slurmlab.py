#!/usr/bin/env python3
"""The lab as a command: `python3 lab/slurmlab.py --help`."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # the package, not its directory

from lab.cli import main  # noqa: E402 - the path first

sys.exit(main(sys.argv[1:]))
