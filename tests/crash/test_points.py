"""A crash, a lost reply or a pause at each point of each story: at most one copy runs, and none is lost."""

from __future__ import annotations

import pytest

from crash.exploring import (
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


@each
def test_a_crash_at_any_point_is_recovered_from_by_another_process(
    story: Story, records: Records, tell: list[str]
) -> None:
    names = points_of(story, records)
    assert len(names) >= story.points, names
    count, failures = explore(story, records, [*crashes(names), *late_crashes(names)])
    tell.append(f"{len(names):4} points, {count:4} crashes: {story.name}")
    assert not failures, f"{len(failures)} of {count}\n" + "\n".join(map(str, failures[:3]))


@each
def test_a_lost_reply_of_any_call_is_read_back(story: Story, records: Records) -> None:
    names = points_of(story, records)
    count, failures = explore(story, records, lost_replies(names))
    assert count
    assert not failures, f"{len(failures)} of {count}\n" + "\n".join(map(str, failures[:3]))


@each
def test_a_process_that_paused_at_any_point_does_no_harm_when_it_goes_on(
    story: Story, records: Records
) -> None:
    names = points_of(story, records)
    count, failures = explore(story, records, pauses(names))
    assert count
    assert not failures, f"{len(failures)} of {count}\n" + "\n".join(map(str, failures[:3]))
