"""A crash, a lost reply or a pause at each point of each story: at most one copy runs, and none is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from crash.exploring import (
    Plan,
    crashes,
    explore,
    late_crashes,
    lost_replies,
    pairs,
    pauses,
    points_of,
)
from crash.site import Records
from crash.stories import STORIES
from crash.story import Story

each = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
Counts = dict[str, dict[str, int]]
Plans = Callable[[list[str]], Iterable[Plan]]


def tried(story: Story, records: Records, *kinds: Plans) -> tuple[int, int]:
    """Tell the story under each of these plans; how many points and plans there are. A failure is an error."""
    names = points_of(story, records)
    count, failures = explore(story, records, [plan for kind in kinds for plan in kind(names)])
    said = "\n".join(map(str, failures))
    assert not failures, f"{len(failures)} of the first {count}\n{said}"
    return len(names), count


@each
def test_a_crash_at_any_point_is_recovered_from_by_another_process(
    story: Story, records: Records, counts: Counts
) -> None:
    points, count = tried(story, records, crashes, late_crashes)
    counts[story.name].update(points=points, crashes=count)
    assert points >= story.points  # hooks that vanish would make this suite pass on nothing
    assert count >= points


@each
def test_a_second_crash_during_the_recovery_is_recovered_from_by_a_third(
    story: Story, records: Records, counts: Counts
) -> None:
    points, count = tried(story, records, pairs)
    counts[story.name]["pairs of crashes"] = count
    assert count >= points // 3


@each
def test_a_lost_reply_of_any_call_is_read_back(
    story: Story, records: Records, counts: Counts
) -> None:
    _, count = tried(story, records, lost_replies)
    counts[story.name]["lost replies"] = count
    assert count


@each
def test_a_process_that_paused_at_any_point_does_no_harm_when_it_goes_on(
    story: Story, records: Records, counts: Counts
) -> None:
    points, count = tried(story, records, pauses)
    counts[story.name]["pauses"] = count
    assert count >= points // 2
