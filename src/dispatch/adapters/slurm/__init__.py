"""The Slurm adapter: real clusters, by the commands that a user of the cluster has."""

from dispatch.adapters.slurm.adapter import SlurmBackend
from dispatch.adapters.slurm.opening import factory, open_slurm
from dispatch.adapters.slurm.settings import Settings, decode_settings

__all__ = ["Settings", "SlurmBackend", "decode_settings", "factory", "open_slurm"]
