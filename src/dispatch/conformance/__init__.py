"""The conformance suites: what every adapter and every record store must show, for third parties' as for ours.

A check is a sentence that an async function proves. ``dispatch.conformance.pytest`` runs the checks as tests,
``dispatch dev conformance`` shows them as a table, and ``run_suite`` returns them as values.
"""

from dispatch.conformance.backend import BACKEND
from dispatch.conformance.bench import Bench
from dispatch.conformance.checks import Check, Suite
from dispatch.conformance.core import CORE, CoreBench
from dispatch.conformance.harness import Harness, Timings
from dispatch.conformance.running import run_check, run_core_suite, run_store_suite, run_suite
from dispatch.conformance.scheduler import Made, Scheduler
from dispatch.conformance.store import STORE, OpenStore
from dispatch.conformance.verdicts import Broken, CannotDo, Outcome, Result, expect, refused

__all__ = [
    "BACKEND",
    "CORE",
    "STORE",
    "Bench",
    "Broken",
    "CannotDo",
    "Check",
    "CoreBench",
    "Harness",
    "Made",
    "OpenStore",
    "Outcome",
    "Result",
    "Scheduler",
    "Suite",
    "Timings",
    "expect",
    "refused",
    "run_check",
    "run_core_suite",
    "run_store_suite",
    "run_suite",
]
