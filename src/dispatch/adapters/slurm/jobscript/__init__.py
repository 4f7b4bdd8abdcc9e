"""The script that Slurm runs for a job, and where its output goes."""

from dispatch.adapters.slurm.jobscript.output import DEFAULT_OUTPUT, output_path, slurm_pattern
from dispatch.adapters.slurm.jobscript.render import FENCED, LAUNCH_FAILED, render_job_script

__all__ = [
    "DEFAULT_OUTPUT",
    "FENCED",
    "LAUNCH_FAILED",
    "output_path",
    "render_job_script",
    "slurm_pattern",
]
