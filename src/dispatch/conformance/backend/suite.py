"""The backend suite: what an adapter must show of single objects, through the SPI alone."""

from __future__ import annotations

from dispatch.conformance.bench import Bench
from dispatch.conformance.checks import Suite

BACKEND: Suite[Bench] = Suite("backend")
check = BACKEND.check
