"""The core suite, into which its checks are entered."""

from __future__ import annotations

from dispatch.conformance.checks import Suite
from dispatch.conformance.core.bench import CoreBench

CORE: Suite[CoreBench] = Suite("core")
check = CORE.check
