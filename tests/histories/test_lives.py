"""Each life can still be told, so that the recipe works on the day when the schema rises; and each is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatch.model.journal import SCHEMA
from histories.lives import LIVES, Life
from histories.reading import folder
from histories.recipe import name_of, tell


@pytest.mark.parametrize("life", LIVES, ids=name_of)
def test_a_life_can_be_told(life: Life, tmp_path: Path) -> None:
    assert tell(life, tmp_path)


def test_every_life_is_recorded_in_this_schema() -> None:
    recorded = {history.stem for history in folder(SCHEMA).glob("*.jsonl")}
    assert {name_of(life) for life in LIVES} == recorded
