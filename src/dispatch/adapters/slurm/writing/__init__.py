"""The writes of the Slurm adapter: one shell script a verb, run in one call."""

from dispatch.adapters.slurm.writing.writer import Writer

__all__ = ["Writer"]
