"""Runs the checks of a suite, one after the other, and says what came of each. A skip is never silent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from dispatch.conformance.bench import Bench
from dispatch.conformance.checks import Check
from dispatch.conformance.core.bench import CoreBench
from dispatch.conformance.harness import Harness
from dispatch.conformance.store.suite import OpenStore
from dispatch.conformance.verdicts import Broken, CannotDo, Outcome, Result
from dispatch.model.errors import DispatchError


async def run_check(harness: Harness, check: Check[Bench]) -> Result:
    """Run one check on a fresh bench."""
    bench = Bench(harness)

    async def prove() -> None:
        await bench.begin()
        if reason := why_not(bench, check):
            raise CannotDo(reason)
        await check.prove(bench)

    try:
        return await judged(check.name, prove)
    finally:
        await bench.end()


async def judged(name: str, prove: Callable[[], Awaitable[None]]) -> Result:
    """Run a proof, and say what came of it."""
    try:
        await prove()
    except CannotDo as cannot:
        return Result(name=name, verdict=Outcome.SKIPPED, reason=str(cannot))
    except Broken as broken:
        return Result(name=name, verdict=Outcome.FAILED, reason=str(broken))
    except DispatchError as error:
        reason = f"refused as {error.kind}: {error}"
        return Result(name=name, verdict=Outcome.FAILED, reason=reason)
    except Exception as error:  # noqa: BLE001 - whatever is raised is a finding about what raised it
        reason = f"raised {type(error).__name__}, which is no error of dispatch: {error}"
        return Result(name=name, verdict=Outcome.FAILED, reason=reason)
    return Result(name=name, verdict=Outcome.PASSED)


def why_not(bench: Bench, check: Check[Any]) -> str:
    """Say why a check does not apply to the backend; empty where it does."""
    if check.needs is not None and not isinstance(bench.backend, check.needs):
        return f"the adapter does not offer {check.needs.__name__}"
    if check.claims is not None:
        answer = bench.backend.answers.capability(check.claims)
        if not answer.yes:
            return f"{check.claims} is {answer.value} here: {answer.reason or 'no reason given'}"
    return ""


async def run_suite(
    harness: Harness,
    checks: Iterable[Check[Bench]],
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Run these checks in their order; ``on_result`` hears of each as it ends."""
    results: list[Result] = []
    try:
        for check in checks:
            results.append(await run_check(harness, check))
            if on_result:
                on_result(results[-1])
    finally:
        await harness.close()
    return results


async def run_core_check(
    harness: Harness, check: Check[CoreBench], kind: type[CoreBench] = CoreBench
) -> Result:
    """Run one check of the core suite on fresh records."""
    bench = kind(harness)

    async def prove() -> None:
        await bench.begin()
        if reason := why_not(bench.backends, check):
            raise CannotDo(reason)
        await check.prove(bench)

    try:
        return await judged(check.name, prove)
    finally:
        await bench.close()


async def run_core_suite(
    harness: Harness,
    checks: Iterable[Check[CoreBench]],
    on_result: Callable[[Result], None] | None = None,
    kind: type[CoreBench] = CoreBench,
) -> list[Result]:
    """Run these checks of the core suite in their order, on the loop that the harness wants: ``harness.run`` makes it.

    ``on_result`` hears of each as it ends; ``kind`` is what they work on, which a test of the suite itself replaces.
    """
    results: list[Result] = []
    try:
        for check in checks:
            results.append(await run_core_check(harness, check, kind))
            if on_result:
                on_result(results[-1])
    finally:
        await harness.close()
    return results


async def run_store_suite(
    new_store: Callable[[], OpenStore], checks: Iterable[Check[OpenStore]]
) -> list[Result]:
    """Run these checks, each on records of its own: ``new_store`` gives what opens them, and they begin empty."""
    return [await judged(check.name, partial(check.prove, new_store())) for check in checks]
