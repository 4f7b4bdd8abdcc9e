"""A pytest plugin: coroutine tests in virtual time.

A test that is marked ``simulated`` runs on the simulated loop; with ``dispatch_simulated = auto`` each coroutine test does. It
touches no others, so it lives beside other plugins for asyncio. Nothing of the loop is imported before such a test runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dispatch.testing.loop import SimulatedClock, SimulatedLoop, Trace

_LINES = 30  # of the trace, in the report of a failure


class _Simulation:
    """The loop of one test and the end of its trace."""

    def __init__(self, loop: SimulatedLoop, trace: Trace) -> None:
        self.loop = loop
        self.trace = trace

    def report(self) -> str:
        seed = self.loop.seed
        again = "the standard order" if seed is None else f"--sim-seed {seed} repeats it"
        return f"seed {seed} ({again}), at {self.loop.clock.now().isoformat()}\n{self.trace}"


_KEY = pytest.StashKey[_Simulation]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "dispatch_simulated",
        "which coroutine tests run in virtual time: 'marked' (those marked simulated) or 'auto' (all)",
        default="marked",
    )
    parser.getgroup("dispatch").addoption(
        "--sim-seed",
        type=int,
        default=None,
        metavar="SEED",
        help="seed of simulated tests; without one, the standard loop's order",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "simulated(seed=None, seeds=None, patience=…, horizon=…): run this coroutine test in virtual time;"
        " seeds=20 runs it once with each of the seeds 0 to 19",
    )
    if config.getini("dispatch_simulated") not in {"marked", "auto"}:
        raise pytest.UsageError(
            f"dispatch_simulated is {config.getini('dispatch_simulated')!r}; allowed are 'marked' and 'auto'."
        )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("simulated")
    seeds = marker.kwargs.get("seeds") if marker else None
    if seeds is not None and metafunc.config.getoption("--sim-seed") is None:
        chosen = range(seeds) if isinstance(seeds, int) else list(seeds)
        metafunc.fixturenames.append("simulation_seed")
        metafunc.parametrize(
            "simulation_seed", chosen, ids=[f"seed{seed}" for seed in chosen], indirect=True
        )


def pytest_itemcollected(item: pytest.Item) -> None:
    if isinstance(item, pytest.Function) and _is_simulated(item):
        item.fixturenames.insert(0, "simulated_loop")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a simulated test; leave any other to whoever else wants it."""
    if not _is_simulated(pyfuncitem):
        return None
    test = inspect.unwrap(pyfuncitem.obj)  # another plugin that takes every coroutine wraps it
    if not inspect.iscoroutinefunction(test):
        pytest.fail(
            f"{pyfuncitem.name} is marked simulated, but is no coroutine function: write `async def`,"
            " or call dispatch.testing.loop.simulate in it.",
            pytrace=False,
        )
    from dispatch.testing.loop.simulate import run_on  # noqa: PLC0415  see above

    names = inspect.signature(test).parameters
    arguments = {name: value for name, value in pyfuncitem.funcargs.items() if name in names}
    run_on(pyfuncitem.stash[_KEY].loop, test(**arguments))
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell with a failure its seed and the last steps."""
    report = yield
    simulation = item.stash.get(_KEY, None)
    if report.when == "call" and report.failed and simulation is not None:
        report.sections.append(("simulation", simulation.report()))
    return report


@pytest.fixture
def simulation_seed(request: pytest.FixtureRequest) -> int | None:
    """The seed of this simulation: of its run among ``seeds``, else --sim-seed, else of the marker, else none."""
    if hasattr(request, "param"):
        seed: int = request.param
        return seed
    asked: int | None = request.config.getoption("--sim-seed")
    return _options(request.node).get("seed") if asked is None else asked


@pytest.fixture
def simulated_loop(
    request: pytest.FixtureRequest, simulation_seed: int | None
) -> Generator[SimulatedLoop]:
    """The loop on which a simulated test runs."""
    item = request.node
    if not isinstance(item, pytest.Function) or not _is_simulated(item):
        pytest.fail(
            f"{item.name} is no simulated test: mark it with @pytest.mark.simulated.", pytrace=False
        )
    from dispatch.testing.loop import SimulatedLoop, Trace  # noqa: PLC0415  see above

    trace = Trace(most=_LINES)
    options = {k: v for k, v in _options(item).items() if k not in {"seed", "seeds"}}
    loop = SimulatedLoop(seed=simulation_seed, trace=trace, **options)
    item.stash[_KEY] = _Simulation(loop, trace)
    yield loop
    loop.close()


@pytest.fixture
def clock(simulated_loop: SimulatedLoop) -> SimulatedClock:
    """The clock of the simulation; implements ``dispatch.spi.clock.Clock``."""
    return simulated_loop.clock


# Fixtures for what dispatch is given in a test (a scheduler in memory, …) follow here, each importing when it is asked for.


def _is_simulated(item: pytest.Function) -> bool:
    if item.get_closest_marker("simulated") is not None:
        return True
    return item.config.getini("dispatch_simulated") == "auto" and inspect.iscoroutinefunction(
        item.obj
    )


def _options(item: pytest.Item) -> dict[str, Any]:
    marker = item.get_closest_marker("simulated")
    return dict(marker.kwargs) if marker else {}
