"""A pytest plugin: tests in virtual time.

A coroutine test that is marked ``simulated`` runs on the simulated loop, with its asynchronous fixtures; with
``dispatch_simulated = auto`` each coroutine test does. A test that asks for ``memory_scheduler`` has a whole dispatch on a
scheduler in memory. The plugin touches no other tests, so it lives beside other plugins for asyncio. Nothing of the loop is
imported before such a test runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dispatch.testing.loop import SimulatedClock, SimulatedLoop, Trace
    from dispatch.testing.memory_scheduler import MemoryScheduler

_LINES = 30  # of the trace, in the report of a failure
_ON_THE_LOOP = frozenset({"clock", "memory_scheduler", "simulated_loop"})
_SHAPES = ("slurm", "kubeflow")


class _Simulation:
    """The loop of one test and the end of its trace."""

    def __init__(self, loop: SimulatedLoop, trace: Trace) -> None:
        self.loop = loop
        self.trace = trace
        self.outlived = False
        """Whether fixtures run on the loop after the test."""
        self.scheduler: MemoryScheduler | None = None

    def sections(self) -> list[tuple[str, str]]:
        seed = self.loop.seed
        again = "the standard order" if seed is None else f"--sim-seed {seed} repeats it"
        told = f"seed {seed} ({again}), at {self.loop.clock.now().isoformat()}"
        if self.scheduler is not None:
            return [("memory scheduler", f"{self.scheduler.report()}\n{told}")]
        return [("simulation", f"{told}\n{self.trace}")]


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
    config.addinivalue_line(
        "markers",
        "memory_scheduler(shape='slurm', shapes=None, config=None, …): what the fixture memory_scheduler is like;"
        " shapes=True runs the test once in each shape, config is a configuration file, the rest are the memory"
        " adapter's settings",
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
    marker = metafunc.definition.get_closest_marker("memory_scheduler")
    if marker and marker.kwargs.get("shapes"):
        metafunc.fixturenames.append("memory_scheduler_shape")
        metafunc.parametrize("memory_scheduler_shape", _SHAPES, indirect=True)


def pytest_itemcollected(item: pytest.Item) -> None:
    if isinstance(item, pytest.Function) and _is_simulated(item):
        item.fixturenames.insert(0, "simulated_loop")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Run an asynchronous fixture of a simulated test on the test's loop; leave any other to whoever else wants it."""
    original = fixturedef.func
    if not (inspect.isasyncgenfunction(original) or inspect.iscoroutinefunction(original)):
        return (yield)
    # The test that asks; its node, where the fixture's scope is wider, is not.
    item: object = getattr(request, "_pyfuncitem", request.node)
    if not isinstance(item, pytest.Function) or not _is_simulated(item):
        return (yield)
    if problem := _why_not_here(fixturedef, item):
        pytest.fail(problem, pytrace=False)
    from dispatch.testing.running import on_loop, on_loop_to_its_end  # noqa: PLC0415  see above

    run = on_loop_to_its_end if inspect.isasyncgenfunction(original) else on_loop
    loop: SimulatedLoop = request.getfixturevalue("simulated_loop")
    if loop.is_running():
        pytest.fail(
            f"The asynchronous fixture {fixturedef.argname} is asked for while the test runs: make it an argument of"
            f" {item.name}.",
            pytrace=False,
        )
    item.stash[_KEY].outlived = True
    function: Any = original
    bound_to = getattr(original, "__self__", None)
    if bound_to is not None and isinstance(request.instance, type(bound_to)):
        function = function.__func__.__get__(request.instance)  # each test has its own
    definition: Any = fixturedef
    definition.func = run(function, loop)
    try:
        return (yield)
    finally:
        definition.func = original


def _why_not_here(fixturedef: pytest.FixtureDef[Any], item: pytest.Function) -> str:
    """Say why a simulated test cannot have that asynchronous fixture; empty where it can."""
    name = fixturedef.argname
    if fixturedef.scope != "function":
        return (
            f"The asynchronous fixture {name} has the scope {fixturedef.scope}, but the loop of the simulated test"
            f" {item.name} lives for one test: give it the scope function, or make it a plain fixture."
        )
    if _given(item) is not None:
        return (
            f"{item.name} is run by @given, each example on a loop of its own, so no example can use the asynchronous"
            f" fixture {name}: set it up in the test, as with `async with`."
        )
    return ""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a simulated test; leave any other to whoever else wants it."""
    if not _is_simulated(pyfuncitem):
        return None
    if (given := _given(pyfuncitem)) is not None:
        _run_given(pyfuncitem, given)
        return True
    test = inspect.unwrap(pyfuncitem.obj)  # another plugin that takes every coroutine wraps it
    if inspect.iscoroutinefunction(test):
        from dispatch.testing.running import run_test  # noqa: PLC0415  see above

        simulation = pyfuncitem.stash[_KEY]
        running = test(**_arguments(pyfuncitem, test))
        run_test(simulation.loop, running, outlived=simulation.outlived)
        return True
    if "memory_scheduler" in pyfuncitem.fixturenames:
        return None  # a plain function, in which the scheduler lets time pass
    pytest.fail(
        f"{pyfuncitem.name} is marked simulated, but is no coroutine function: write `async def`,"
        " ask for memory_scheduler, or call dispatch.testing.loop.simulate in it.",
        pytrace=False,
    )


def _arguments(item: pytest.Function, function: Callable[..., object]) -> dict[str, Any]:
    names = inspect.signature(function).parameters
    return {name: value for name, value in item.funcargs.items() if name in names}


def _run_given(item: pytest.Function, given: Any) -> None:
    arguments = _arguments(item, given)
    if shared := sorted(_ON_THE_LOOP & arguments.keys()):
        pytest.fail(
            f"{item.name} is run by @given, each example on a loop of its own, and {', '.join(shared)} would be one for"
            " all: take asyncio.get_running_loop().clock in the test, or"
            " dispatch.testing.memory_scheduler.memory_scheduler() in a plain test.",
            pytrace=False,
        )
    from dispatch.testing.running import run_examples  # noqa: PLC0415  see above

    seed = item.stash[_KEY].loop.seed
    run_examples(given, arguments, lambda: _begin(item, seed).loop)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell with a failure its seed, and the last steps or the story of each job."""
    report = yield
    simulation = item.stash.get(_KEY, None)
    if report.when == "call" and report.failed and simulation is not None:
        report.sections += simulation.sections()
    return report


@pytest.fixture
def simulation_seed(request: pytest.FixtureRequest) -> int | None:
    """The seed of this simulation: of its run among ``seeds``, else --sim-seed, else of the marker, else none."""
    if hasattr(request, "param"):
        seed: int = request.param
        return seed
    asked: int | None = request.config.getoption("--sim-seed")
    return _options(request.node, "simulated").get("seed") if asked is None else asked


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
    from dispatch.testing.running import wind_up  # noqa: PLC0415  see above

    loop = _begin(item, simulation_seed).loop
    yield loop
    wind_up(loop)


@pytest.fixture
def clock(simulated_loop: SimulatedLoop) -> SimulatedClock:
    """The clock of the simulation; implements ``dispatch.spi.clock.Clock``."""
    return simulated_loop.clock


@pytest.fixture
def memory_scheduler_shape(request: pytest.FixtureRequest) -> str:
    """Which scheduler ``memory_scheduler`` behaves like: ``slurm``, or ``kubeflow``."""
    shape: str = getattr(request, "param", None) or _options(request.node, "memory_scheduler").get(
        "shape", _SHAPES[0]
    )
    return shape


@pytest.fixture
def memory_scheduler(
    request: pytest.FixtureRequest,
    simulated_loop: SimulatedLoop,
    memory_scheduler_shape: str,
) -> Generator[MemoryScheduler]:
    """A whole dispatch on a scheduler in memory, in virtual time; see ``docs/how-to/test-your-policy.md``."""
    from dispatch.model.errors import DispatchError  # noqa: PLC0415  see above
    from dispatch.testing.memory_scheduler import MemoryScheduler  # noqa: PLC0415  see above

    options = _options(request.node, "memory_scheduler")
    config, _ = options.pop("config", None), options.pop("shapes", None)
    try:
        scheduler = MemoryScheduler(
            simulated_loop,
            settings={**options, "shape": memory_scheduler_shape},
            config=None if config is None else Path(config),
            base=request.config.rootpath,
        )
    except DispatchError as error:
        pytest.fail(f"The memory scheduler of {request.node.name}: {error}", pytrace=False)
    request.node.stash[_KEY].scheduler = scheduler
    yield scheduler
    scheduler.close()


def _begin(item: pytest.Function, seed: int | None) -> _Simulation:
    """Make a loop for a test; a failure is told with the last one."""
    from dispatch.testing.loop import SimulatedLoop, Trace  # noqa: PLC0415  see above

    trace = Trace(most=_LINES)
    options = _options(item, "simulated")
    options = {name: value for name, value in options.items() if name not in {"seed", "seeds"}}
    item.stash[_KEY] = _Simulation(SimulatedLoop(seed=seed, trace=trace, **options), trace)
    return item.stash[_KEY]


def _is_simulated(item: pytest.Function) -> bool:
    if item.get_closest_marker("simulated") is not None:
        return True
    if inspect.iscoroutinefunction(item.obj) or _given(item) is not None:
        auto: str = item.config.getini("dispatch_simulated")
        return auto == "auto"
    return "memory_scheduler" in item.fixturenames


def _given(item: pytest.Function) -> Any:
    """The test itself where @given runs a coroutine function; ``None`` otherwise."""
    inner: Callable[..., object] | None = getattr(
        getattr(item.obj, "hypothesis", None), "inner_test", None
    )
    return item.obj if inspect.iscoroutinefunction(inner) else None


def _options(item: pytest.Item, name: str) -> dict[str, Any]:
    marker = item.get_closest_marker(name)
    return dict(marker.kwargs) if marker else {}
