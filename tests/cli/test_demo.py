"""The demo: what it shows really happens, and ends well, fast."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rich.console import Console

from cli.bench import run
from dispatch.cli.commands.demo import _picture
from dispatch.cli.demo_picture import Timeline
from dispatch.cli.demo_story import Frame, Story
from dispatch.cli.exits import Exit


def frames(place: Path) -> list[Frame]:
    async def play() -> list[Frame]:
        return [frame async for frame in Story(place).play()]

    return asyncio.run(play())


def test_the_history_has_everything_that_the_demo_promises() -> None:
    said = run("demo", "--json")
    assert (said.code, said.err) == (Exit.OK, "")
    [document] = said.documents
    assert (document["executions"], document["overlaps"]) == (3, 0)
    history = document["history"]
    decided = [entry["event"] for entry in history if entry["event"]["event"] == "decided"]
    assert [event["verdict"]["cause"] for event in decided] == ["Preempted", "NodeLost"]
    texts = [entry["text"] for entry in history]
    assert "no proof yet that submission 2 is gone; awaited from n3" in texts
    assert any(
        text.startswith("the start of submission 2 landed") and text.endswith("read back")
        for text in texts
    )
    assert texts[-1] == "the job ended: Succeeded"
    starts = [
        entry
        for entry in history
        if entry["event"].get("intent", {}) and "about to start" in entry["text"]
    ]
    assert len(starts) == 3
    assert len(document["played"]) == 9


def test_what_happens_is_printed_where_there_is_no_terminal() -> None:
    said = run("demo")
    assert said.code == Exit.OK
    lines = said.out.splitlines()
    assert lines[0].startswith("00:00  ▶ a person submits")
    assert "3 executions in " in said.out
    assert "never two at once (0 overlaps" in said.out


def test_the_story_is_short_enough_at_its_speed(tmp_path: Path) -> None:
    story = frames(tmp_path)
    assert (story[-1].now - story[0].now).total_seconds() / 20 < 18
    assert story[-1].view.verdict is not None


def test_two_executions_never_live_at_once_on_the_picture(tmp_path: Path) -> None:
    story = frames(tmp_path)
    assert max(len(frame.live) for frame in story) == 1
    timeline = Timeline()
    for frame in story:
        timeline.add(frame)
    rows = {
        line[0].letter.strip(): "".join(mark.letter for mark in line[1:])
        for line in timeline.lines()
    }
    assert list(rows) == ["job", "n1", "n2", "n3", "n4", "n5", "n6"]
    assert len({len(row) for row in rows.values()}) == 1
    assert len(rows["job"]) + 5 <= 75
    assert "▓" in rows["n3"]
    assert "?" in rows["job"]
    assert rows["job"].endswith("✓")


def test_the_picture_fits_a_terminal(tmp_path: Path) -> None:
    timeline = Timeline()
    story = frames(tmp_path)
    for frame in story:
        timeline.add(frame)
    console = Console(width=80, force_terminal=False)
    with console.capture() as drawn:
        console.print(_picture(story[-1], [], timeline))
    lines = drawn.get().splitlines()
    assert "llama-sft: Succeeded" in lines[0]
    assert "▶ the training ends" in drawn.get()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
