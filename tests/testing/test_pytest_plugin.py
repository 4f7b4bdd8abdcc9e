"""The pytest plugin runs coroutine tests in virtual time, and keeps out of everything else."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from testing.places import PLUGIN, ROOT, Place

MARKED = "import pytest\n@pytest.mark.simulated\nasync def test_it(clock): clock.now()\n"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_marked_test_runs_for_hours_at_once(place: Place) -> None:
    code, said = place.run(
        """
        import asyncio, pytest
        from datetime import timedelta

        @pytest.fixture
        def hours():
            return 5

        @pytest.mark.simulated
        @pytest.mark.parametrize("more", [1, 2])
        async def test_hours(clock, hours, more):
            before = clock.now()
            await asyncio.sleep(3600 * (hours + more))
            await clock.sleep_until(clock.now() + timedelta(hours=1))
            assert clock.now() - before == timedelta(hours=hours + more + 1)

        class TestClass:
            @pytest.mark.simulated(seed=3)
            async def test_method(self, simulated_loop):
                assert asyncio.get_running_loop() is simulated_loop
                assert simulated_loop.seed == 3

        def test_plain():
            pass
        """
    )
    assert code == 0, said
    assert "4 passed" in said


def test_a_failure_tells_its_seed_and_the_last_steps(place: Place) -> None:
    source = """
        import asyncio, pytest

        @pytest.mark.simulated(seeds=20)
        async def test_race():
            order = []
            async def go(name):
                order.append(name)
            async with asyncio.TaskGroup() as group:
                for name in "ab":
                    group.create_task(go(name), name=name)
            assert order == ["a", "b"]
        """
    code, said = place.run(source)
    failed = [
        line for line in said.splitlines() if line.startswith("test_it.py::") and "FAILED" in line
    ]
    assert code == 1
    assert 0 < len(failed) < 20
    seed = failed[0].partition("[seed")[2].partition("]")[0]
    assert f"seed {seed} (--sim-seed {seed} repeats it), at 2026-01-01T00:00:00+00:00" in said
    assert "begins test_race; waits in test_race: TaskGroup.__aexit__" in said
    code, said = place.run(source, "--sim-seed", seed)
    assert code == 1
    assert "1 failed" in said


def test_other_coroutine_tests_are_left_to_others(place: Place) -> None:
    source = """
        import asyncio

        async def test_unmarked():
            asyncio.get_running_loop().clock
        """
    code, said = place.run(source)
    assert code == 1
    assert "async def functions are not natively supported" in said
    code, said = place.run(source, ini="dispatch_simulated = auto\n")
    assert code == 0, said


@pytest.mark.parametrize(
    ("source", "ini", "error"),
    [
        (
            "import pytest\n@pytest.mark.simulated\ndef test_it(): pass",
            "",
            "is no coroutine function",
        ),
        ("def test_it(clock): pass", "", "test_it is no simulated test: mark it"),
        ("", "dispatch_simulated = some\n", "allowed are 'marked' and 'auto'"),
    ],
)
def test_wrong_use_is_explained(place: Place, source: str, ini: str, error: str) -> None:
    code, said = place.run(source, ini=ini)
    assert code != 0
    assert error in said
    assert "Traceback" not in said


def test_a_deadlock_is_a_failure_and_no_hang(place: Place) -> None:
    code, said = place.run(
        """
        import asyncio, pytest

        @pytest.mark.simulated
        async def test_stuck():
            await asyncio.Event().wait()
        """
    )
    assert code == 1
    assert "Deadlock at 2026-01-01T00:00:00+00:00: nothing is ready and no timer is set." in said
    assert (
        "'main' at test_it.py:6 in test_stuck (`await asyncio.Event().wait()`) waits for Event"
        in said
    )


def test_the_loop_is_imported_only_when_a_test_needs_it(place: Place) -> None:
    code, said = place.run(
        """
        import sys

        def test_nothing_is_loaded():
            loaded = [name for name in sys.modules if name.startswith("dispatch.")]
            assert loaded == ["dispatch.testing", "dispatch.testing.pytest_plugin"]
        """
    )
    assert code == 0, said


def test_an_installed_plugin_is_found_and_can_be_switched_off(place: Place) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    entry = project["entry-points"]["pytest11"]
    assert entry == {"dispatch": PLUGIN}
    installed = place.path / "dispatch_jobs-0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: dispatch-jobs\nVersion: 0\n")
    (installed / "entry_points.txt").write_text(f"[pytest11]\ndispatch = {PLUGIN}\n")
    code, said = place.run(MARKED, "--sim-seed", "1", installed=True)
    assert code == 0, said
    code, said = place.run(MARKED, "-p", "no:dispatch", "--sim-seed", "1", installed=True)
    assert code == 4
    assert "unrecognized arguments" in said


def test_a_plugin_that_wraps_every_coroutine_test_takes_none_of_ours(place: Place) -> None:
    code, said = place.run(
        """
        import asyncio, functools, pytest

        @pytest.fixture(autouse=True)
        def greedy(request):
            @functools.wraps(request.node.obj)
            def run(*_, **__):
                raise AssertionError("it took the test")
            request.node.obj = run

        @pytest.mark.simulated
        async def test_hour(clock):
            await asyncio.sleep(3600)
        """
    )
    assert code == 0, said


def test_a_plain_test_has_a_scheduler_and_tells_its_story_with_a_failure(place: Place) -> None:
    code, said = place.run(
        """
        import pytest

        @pytest.fixture
        def job(memory_scheduler):
            return memory_scheduler.submit({"command": ["train.py"], "name": "sft"})

        def test_it(job, clock):
            before = clock.now()
            job.finish(0).wait_ended()
            assert clock.now() == before

        @pytest.mark.simulated(seeds=2)
        def test_seeds(job, simulated_loop):
            assert simulated_loop.seed in (0, 1)

        @pytest.mark.memory_scheduler(shapes=True)
        @pytest.mark.simulated
        async def test_shapes(memory_scheduler):
            print(memory_scheduler.backend.identity.version)
        """,
        "-s",
    )
    assert code == 1
    assert "1 failed, 4 passed" in said
    assert "sft (" in said
    assert "submission 1: ended: Succeeded (exit code 0)" in said
    assert "the standard order), at 2026-01-01T00:0" in said
    assert "slurm\n" in said
    assert "kubeflow\n" in said


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (
            "@pytest.mark.memory_scheduler(nodez=3)\ndef test_it(memory_scheduler): pass",
            "The memory scheduler of test_it: The settings of the memory adapter has one fault.\n  nodez:",
        ),
        (
            "@pytest.mark.memory_scheduler(config='no.toml')\ndef test_it(memory_scheduler): pass",
            "The memory scheduler of test_it: There is no file",
        ),
        ("async def test_it(memory_scheduler): pass", "test_it is no simulated test: mark it"),
    ],
    ids=["setting", "config", "coroutine"],
)
def test_a_scheduler_that_cannot_be_is_explained(place: Place, source: str, error: str) -> None:
    code, said = place.run(f"import pytest\n{source}\n")
    assert code == 1
    assert error in said
    assert "Traceback" not in said
