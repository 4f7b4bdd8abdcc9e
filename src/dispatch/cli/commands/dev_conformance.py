"""``dispatch dev conformance``: runs a conformance suite against an adapter, and shows a table."""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import click

from dispatch.cli.exits import Exit
from dispatch.cli.options import Common, common_options
from dispatch.cli.terminal import Cell, emit, note, say, table, width
from dispatch.conformance.backend import BACKEND
from dispatch.conformance.checks import Suite
from dispatch.conformance.core import CORE
from dispatch.conformance.harness import Harness
from dispatch.conformance.harnesses import harness_named, has_harness
from dispatch.conformance.running import run_core_suite, run_store_suite, run_suite
from dispatch.conformance.store import STORE, OpenStore
from dispatch.conformance.store.samples import NOW
from dispatch.conformance.verdicts import Outcome, Result
from dispatch.model.codec import to_builtins
from dispatch.model.errors import Fault, Invalid
from dispatch.spi.store import Store
from dispatch.stores.directory import DirectoryStore
from dispatch.stores.sqlite import SqliteStore

SUITES: dict[str, Suite[Any]] = {"backend": BACKEND, "core": CORE, "store": STORE}
STORES: dict[str, Callable[..., Store]] = {
    "sqlite": SqliteStore.open,
    "directory": DirectoryStore.open,
}
COLOURS = {Outcome.PASSED: "green", Outcome.FAILED: "red", Outcome.SKIPPED: "yellow"}


@click.command("conformance")
@click.option(
    "--adapter",
    required=True,
    metavar="NAME",
    help="The adapter, by its name; for the store suite sqlite or directory.",
)
@click.option(
    "--settings",
    "place",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The adapter's settings, one JSON object.",
)
@click.option(
    "--suite",
    type=click.Choice(list(SUITES)),
    default="backend",
    metavar="SUITE",
    help="Which rules: backend, core or store.",
)
@click.option("--list", "only_list", is_flag=True, help="Name the rules, and open nothing.")
@common_options
def conformance(
    common: Common, *, adapter: str, place: Path | None, suite: str, only_list: bool
) -> int:
    """Run the rules that every adapter must keep against one.

    Jobs are started and stopped on the cluster that the settings name. Each rule passes, fails, or is skipped with the
    reason. The exit code is 1 where one fails.
    """
    group = cast("Common | None", click.get_current_context().obj)
    as_json = common.as_json or (group is not None and group.as_json)
    settings = read_settings(place)
    harness = None if suite == "store" else harness_named(adapter, settings)
    if harness is None:
        require_store(adapter, settings)
    if only_list:
        if harness is not None and not has_harness(adapter):
            note(
                f"{adapter} has no harness of its own, so its settings are read when it is opened."
            )
        return tell_list(suite, as_json=as_json)
    if harness is None:
        results = run_stores(adapter)
    else:
        in_time = harness.run if suite == "core" else asyncio.run
        results = in_time(run(harness, suite))
    tell(results, as_json=as_json)
    failed = any(result.verdict is Outcome.FAILED for result in results)
    return Exit.ENDED_OTHERWISE if failed else Exit.OK


def read_settings(place: Path | None) -> dict[str, Any]:
    """Read settings; ``Invalid`` where the file is no JSON object."""
    if place is None:
        return {}
    try:
        document = json.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise Invalid(f"{place} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        fault = Fault(path=str(place), found=str(error), allowed="one JSON object")
        raise Invalid("The settings are no JSON.", faults=(fault,)) from None
    if not isinstance(document, dict):
        fault = Fault(path=str(place), found=type(document).__name__, allowed="one JSON object")
        raise Invalid("The settings are wrong.", faults=(fault,))
    return cast("dict[str, Any]", document)


async def run(harness: Harness, suite: str) -> list[Result]:
    """Run a suite, after an opening that tells of a cluster that cannot be opened at all."""
    await (await harness.open()).close()
    if suite == "core":
        return await run_core_suite(harness, CORE)
    return await run_suite(harness, BACKEND)


def require_store(name: str, settings: dict[str, Any]) -> None:
    """Raise ``Invalid`` where there is no such store, or settings, of which none has any."""
    if name not in STORES:
        raise Invalid(f"There is no store {name!r}.", todo=f"Take one of {', '.join(STORES)}.")
    if settings:
        faults = tuple(
            Fault(path=key, found="a setting", allowed="none: a store has no settings")
            for key in settings
        )
        raise Invalid(f"The settings of the store {name} are wrong.", faults=faults)


def run_stores(name: str) -> list[Result]:
    """Run the store suite, each check on records of its own in a directory that is removed afterwards."""
    numbers = itertools.count(1)
    with tempfile.TemporaryDirectory(prefix="dispatch-conformance-") as place:

        def new_store() -> OpenStore:
            records = Path(place) / str(next(numbers)) / "records"
            return lambda: STORES[name](records, now=NOW)

        return asyncio.run(run_store_suite(new_store, STORE))


def tell(results: list[Result], *, as_json: bool) -> None:
    """Tell what came of the rules; those that failed last, where a long table ends."""
    if as_json:
        emit({"checks": [{"reason": "", **to_builtins(result)} for result in results]})
        return
    rows = [
        (
            Cell(result.name),
            Cell(result.verdict, COLOURS[result.verdict]),
            Cell(result.reason),
        )
        for result in sorted(results, key=lambda result: result.verdict is Outcome.FAILED)
    ]
    say(table(("RULE", "VERDICT", "REASON"), rows, width()))
    counts = {verdict: sum(result.verdict is verdict for result in results) for verdict in Outcome}
    say("")
    say(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))


def tell_list(suite: str, *, as_json: bool) -> int:
    """Tell which rules there are, and why."""
    if as_json:
        emit({"checks": [{"name": check.name, "why": check.why} for check in SUITES[suite]]})
    else:
        rows = [(Cell(check.name), Cell(check.why)) for check in SUITES[suite]]
        say(table(("RULE", "WHY"), rows, width()))
    return Exit.OK
