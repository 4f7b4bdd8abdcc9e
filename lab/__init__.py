"""A real Slurm on one machine, for the tests: docs/how-to/run-the-slurm-lab.md."""

from lab.cgroups import why_no_cgroups
from lab.config import Options
from lab.host import LabError, LabUnavailable, require_host
from lab.instance import Lab

__all__ = ["Lab", "LabError", "LabUnavailable", "Options", "require_host", "why_no_cgroups"]
