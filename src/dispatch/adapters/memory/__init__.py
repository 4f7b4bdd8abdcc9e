"""A scheduler in memory that behaves like Slurm: for tests, the simulator and demonstrations, never for production."""

from dispatch.adapters.memory.backend import MemoryBackend, factory
from dispatch.adapters.memory.calls import call_start
from dispatch.adapters.memory.env import Env
from dispatch.adapters.memory.settings import Relaunch, Settings, ShapeName, decode_settings
from dispatch.adapters.memory.truth import ExecutionTruth, ObjectTruth, Overlap, Ticket
from dispatch.adapters.memory.world import World

__all__ = [
    "Env",
    "ExecutionTruth",
    "MemoryBackend",
    "ObjectTruth",
    "Overlap",
    "Relaunch",
    "Settings",
    "ShapeName",
    "Ticket",
    "World",
    "call_start",
    "decode_settings",
    "factory",
]
