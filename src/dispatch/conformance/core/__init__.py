"""The core suite: the protocol's rules on an adapter, through the real operator and engine."""

from dispatch.conformance.core.bench import CoreBench
from dispatch.conformance.core.checks import CORE

__all__ = ["CORE", "CoreBench"]
