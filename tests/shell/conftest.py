"""Worlds for the tests of the shell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shell.world import World


@pytest.fixture
def worlds(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Makes a world with settings of the test's own."""
    made: list[World] = []

    def make(**settings: Any) -> World:
        made.append(World(tmp_path, **settings))
        return made[-1]

    yield make
    for world in made:
        world.store.close()


@pytest.fixture
def world(worlds: Callable[..., World]) -> World:
    """A world as it comes."""
    return worlds()
