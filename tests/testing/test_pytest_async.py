"""The pytest plugin runs asynchronous fixtures and properties in virtual time, or says why it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.places import Place

SERVER = """
import asyncio, pytest

told = []

@pytest.fixture
async def rate():
    await asyncio.sleep(1)
    return 3

@pytest.fixture
async def server(rate, clock):
    queue = asyncio.Queue()
    async def serve():
        while True:
            await asyncio.sleep(rate)
            queue.put_nowait(clock.now())
    serving = asyncio.create_task(serve())
    yield queue
    serving.cancel()
    await asyncio.sleep(60)
    told.append((serving.cancelled(), clock.now().minute))
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_fixtures_share_the_loop_of_their_test_and_outlive_it(place: Place) -> None:
    code, said = place.run(
        SERVER
        + """
@pytest.mark.simulated
async def test_server(server, clock):
    before = clock.now()
    assert (await server.get() - before).total_seconds() == 3
    assert (await server.get() - before).total_seconds() == 6

def test_afterwards():
    assert told == [(True, 1)]
"""
    )
    assert code == 0, said
    assert "2 passed" in said


def test_fixtures_of_a_class_are_bound_to_the_instance_of_their_test(place: Place) -> None:
    code, said = place.run(
        """
        import asyncio, pytest

        class TestIt:
            @pytest.fixture(autouse=True, params=[1, 2])
            async def number(self, request):
                await asyncio.sleep(1)
                self.found = request.param
                yield self.found

            @pytest.fixture
            async def twice(self, number):
                return 2 * number

            @pytest.mark.simulated
            async def test_both(self, twice):
                assert twice == 2 * self.found
        """
    )
    assert code == 0, said
    assert "2 passed" in said


def test_what_a_fixture_leaves_behind_is_an_error(place: Place) -> None:
    code, said = place.run(
        """
        import asyncio, pytest

        @pytest.fixture
        async def careless():
            async def fall():
                raise ValueError("unseen")
            asyncio.create_task(fall())
            yield

        @pytest.mark.simulated
        async def test_it(careless):
            await asyncio.sleep(1)
        """
    )
    assert code == 1
    assert "1 passed, 1 error" in said
    assert "LeakedErrors" in said
    assert "unseen" in said


def test_a_fixture_ends_after_a_test_that_was_stuck(place: Place) -> None:
    code, said = place.run(
        """
        import asyncio, pytest

        @pytest.fixture
        async def ending():
            yield
            await asyncio.sleep(1)
            print("it has ended")

        @pytest.mark.simulated
        async def test_stuck(ending):
            await asyncio.Event().wait()
        """
    )
    assert code == 1
    assert "Deadlock at" in said
    assert "it has ended" in said
    assert "1 failed in" in said


WIDER = """
import pytest

@pytest.fixture(scope="module")
async def shared():
    return 1

@pytest.mark.simulated
async def test_it(shared):
    pass
"""
TWICE = """
import pytest

@pytest.fixture
async def twice():
    yield 1
    yield 2

@pytest.mark.simulated
async def test_it(twice):
    pass
"""
LATE = """
import pytest

@pytest.fixture
async def late():
    return 1

@pytest.mark.simulated
async def test_it(request):
    request.getfixturevalue("late")
"""
GIVEN_FIXTURE = """
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

@pytest.fixture
async def late():
    return 1

@pytest.mark.simulated
@settings(suppress_health_check=list(HealthCheck))
@given(st.integers())
async def test_it(late, number):
    pass
"""
GIVEN_CLOCK = """
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

@pytest.mark.simulated
@settings(suppress_health_check=list(HealthCheck))
@given(number=st.integers())
async def test_it(clock, number):
    pass
"""


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (WIDER, "shared has the scope module, but the loop of the simulated test test_it lives"),
        (TWICE, "the fixture twice yields more than once"),
        (LATE, "late is asked for while the test runs: make it an argument of test_it"),
        (GIVEN_FIXTURE, "so no example can use the asynchronous fixture late"),
        (GIVEN_CLOCK, "and clock would be one for all: take asyncio.get_running_loop().clock"),
    ],
    ids=["wider", "twice", "late", "given a fixture", "given the clock"],
)
def test_what_cannot_be_is_explained(place: Place, source: str, error: str) -> None:
    code, said = place.run(source)
    assert code == 1
    assert error in said


def test_fixtures_of_other_tests_are_left_to_others(place: Place) -> None:
    code, said = place.run(
        """
        import pytest

        @pytest.fixture
        async def theirs():
            return 1

        def test_it(theirs):
            pass
        """
    )
    assert code == 1
    assert "requested an async fixture 'theirs', with no plugin or hook that handled it" in said


PROPERTY = """
import asyncio, pytest
from hypothesis import given, settings, strategies as st

started = []

@pytest.mark.simulated
@settings(max_examples=20, derandomize=True, database=None)
@given(hours=st.integers(1, 100))
async def test_hours(hours):
    clock = asyncio.get_running_loop().clock
    before = clock.now()
    started.append(before)
    await asyncio.sleep(3600 * hours)
    assert (clock.now() - before).total_seconds() == 3600 * hours

class TestIt:
    @pytest.mark.simulated(seeds=2)
    @pytest.mark.parametrize("unit", [1, 60])
    @settings(max_examples=10, derandomize=True, database=None)
    @given(data=st.data())
    async def test_method(self, unit, data):
        await asyncio.sleep(unit * data.draw(st.integers(0, 5)))

def test_each_example_had_a_loop_of_its_own():
    assert len(started) > 5
    assert len(set(started)) == 1
"""


@pytest.mark.parametrize("ini", ["", "dispatch_simulated = auto\n"])
def test_each_example_of_a_property_has_a_loop_of_its_own(place: Place, ini: str) -> None:
    code, said = place.run(PROPERTY, "-p", "_hypothesis_pytestplugin", ini=ini)
    assert code == 0, said
    assert "6 passed" in said


def test_an_example_that_fails_is_shrunk_and_told_with_its_last_steps(place: Place) -> None:
    code, said = place.run(
        """
        import asyncio, pytest
        from hypothesis import given, settings, strategies as st

        @pytest.mark.simulated(seed=3)
        @settings(derandomize=True, database=None)
        @given(hours=st.integers(1, 100))
        async def test_hours(hours):
            await asyncio.sleep(3600 * hours)
            assert hours < 10
        """,
        "-p",
        "_hypothesis_pytestplugin",
    )
    assert code == 1
    assert "hours=10" in said
    assert "seed 3 (--sim-seed 3 repeats it), at 2026-01-01T10:00:00+00:00" in said
