"""A scheduler in memory that behaves like Slurm or like Kubeflow: for tests, the simulator and demonstrations.

Not for production. ``open_memory`` makes a world; its backend is driven as any other, and ``backend.env`` is the scheduler's
side: it runs, ends and preempts, loses nodes, and tells the ground truth. See ``docs/reference/memory-adapter.md``.
"""

from dispatch.adapters.memory.backend import MemoryBackend, factory, open_memory
from dispatch.adapters.memory.calls import Crashed, call_start, crash_between_steps
from dispatch.adapters.memory.env import Env
from dispatch.adapters.memory.settings import Relaunch, Settings, ShapeName, decode_settings
from dispatch.adapters.memory.truth import ExecutionTruth, ObjectTruth, Overlap, Ticket
from dispatch.adapters.memory.watching import Stream
from dispatch.adapters.memory.world import World

__all__ = [
    "Crashed",
    "Env",
    "ExecutionTruth",
    "MemoryBackend",
    "ObjectTruth",
    "Overlap",
    "Relaunch",
    "Settings",
    "ShapeName",
    "Stream",
    "Ticket",
    "World",
    "call_start",
    "crash_between_steps",
    "decode_settings",
    "factory",
    "open_memory",
]
