"""The core suite: the protocol's rules on an adapter, through the real operator and supervisor, a module a subject."""

from dispatch.conformance.core import (
    calling,
    ending,
    holding,
    losing,
    recovering,
    stopping,
    supervising,
)
from dispatch.conformance.core.bench import CoreBench
from dispatch.conformance.core.process import Process
from dispatch.conformance.core.suite import CORE

__all__ = [
    "CORE",
    "CoreBench",
    "Process",
    "calling",
    "ending",
    "holding",
    "losing",
    "recovering",
    "stopping",
    "supervising",
]
