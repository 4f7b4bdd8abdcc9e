"""Every refusal of a document or a word as a person meets it: the command as a process, its words, its exit code, nothing left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dispatch.cli.exits import Exit
from processes import CONFIG, NOBODY, RIGHT, Place, check_refused, needs_root, open_place, works


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, CONFIG)


# ---------------------------------------------------------------- job files

BOMB = (
    "".join(
        f"{name}: &{name} [{', '.join([below] * 10)}]\n"
        for name, below in zip("abcd", ("x", "*a", "*b", "*c"), strict=True)
    )
    + "command: [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n"
)
FILES: dict[str, tuple[str, str | bytes, tuple[str, ...]]] = {
    "a wrong type": (
        "j.yaml",
        "command: [x]\nnodes: many\n",
        ("line 2, nodes", "'many'", "whole number"),
    ),
    "an unknown field": (
        "j.yaml",
        "command: [x]\nndoes: 2\n",
        ("line 2, ndoes", "did you mean nodes"),
    ),
    "a missing field": ("j.yaml", "name: x\n", ("command", "required")),
    "a number out of range": (
        "j.json",
        '{"command": ["x"], "nodes": 0}',
        ("nodes", "from 1 to 100000"),
    ),
    "a shell line for an argv": ("j.yaml", "command: python x.py\n", ("command", "in brackets")),
    "a key twice": ("j.yaml", "command: [x]\nnodes: 1\nnodes: 2\n", ("nodes", "line 3")),
    "a key twice in JSON": (
        "j.json",
        '{"command": ["x"], "name": "a", "name": "b"}',
        ("name", "each key once"),
    ),
    "a key twice in TOML": ("j.toml", 'command = ["x"]\nname = "a"\nname = "b"\n', ("line 3",)),
    "no UTF-8": ("j.yaml", b"name: \xff\ncommand: [x]\n", ("line 1", "0xff", "UTF-8")),
    "nothing": ("j.yaml", b"", ("is empty",)),
    "a comment alone": ("j.yaml", "# nothing\n", ("is empty",)),
    "broken YAML": ("j.yaml", "command: [x\n", ("line",)),
    "broken JSON": ("j.json", '{"command": [x]}', ("line 1, column 14",)),
    "broken TOML": ("j.toml", "command = x\n", ("line 1",)),
    "another ending": ("j.txt", RIGHT, ("ends in .txt", "*.yaml")),
    "no ending": ("job", RIGHT, ("ends in nothing",)),
    "too much": ("j.yaml", b"#" * (1 << 20) + b"\n" + RIGHT.encode(), ("more than 1048576 bytes",)),
    "a YAML bomb": ("j.yaml", BOMB, ("fault",)),
    "an endless YAML": ("j.yaml", "command: &a [*a]\n", ("line",)),
    "deep YAML": ("j.yaml", "command: " + "[" * 5000 + "]" * 5000, ("deep",)),
    "deep JSON": ("j.json", '{"command": ' + "[" * 100_000 + "]" * 100_000 + "}", ("deep",)),
    "two documents": ("j.yaml", f"{RIGHT}---\n{RIGHT}", ("line",)),
    "a Python object": ("j.yaml", "command: !!python/object/apply:os.system [id]\n", ("line",)),
    "a list": ("j.yaml", "[a, b]\n", ("mapping",)),
    "a text": ("j.yaml", "hello\n", ("mapping",)),
    "a variable of ours": (
        "j.yaml",
        "command: [x]\nenv: {DISPATCH_X: a}\n",
        ("env.DISPATCH_X", "ours alone"),
    ),
    "an unknown policy": (
        "j.yaml",
        "command: [x]\nrecovery: spot\n",
        ("line 2, recovery", "none yet"),
    ),
    "a cause that ends nothing": (
        "j.yaml",
        "command: [x]\nrecovery: {rules: [{when: [Held], do: fail}]}\n",
        ("recovery.rules[0].when[0]", "NodeLost"),
    ),
    "an unknown cluster": (
        "j.yaml",
        "command: [x]\ncluster: nosuch\n",
        ("'nosuch'", "known: away, c", "[clusters.NAME]"),
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_bad_job_file_is_refused(name: str, place: Place) -> None:
    file, content, says = FILES[name]
    place.write(file, content)
    check_refused(place, "submit", file, code=Exit.USAGE, kind="Invalid", says=(*says,))


def test_a_job_file_that_is_none_is_refused(place: Place) -> None:
    (place.directory / "d.yaml").mkdir()
    check_refused(
        place, "submit", "d.yaml", code=Exit.USAGE, kind="Invalid", says=("is a directory",)
    )
    os.mkfifo(place.directory / "f.yaml")
    check_refused(
        place, "submit", "f.yaml", code=Exit.USAGE, kind="Invalid", says=("no regular file",)
    )
    place.write("train.yaml", RIGHT)
    check_refused(
        place,
        "submit",
        "trian.yaml",
        code=Exit.NOT_FOUND,
        kind="NotFound",
        says=("trian.yaml", "train.yaml?"),
    )


def test_a_name_that_would_move_the_cursor_is_shown_and_not_obeyed(place: Place) -> None:
    check_refused(
        place,
        "submit",
        "\x1b[2J\x9b.yaml",
        code=Exit.NOT_FOUND,
        kind="NotFound",
        says=("\\x1b[2J\\x9b.yaml",),
    )
    place.write("\x1b[31m.yaml", "command: x\n")
    check_refused(
        place,
        "submit",
        "\x1b[31m.yaml",
        code=Exit.USAGE,
        kind="Invalid",
        says=("\\x1b[31m.yaml has one fault",),
    )


def test_of_several_files_none_is_submitted_where_one_is_wrong(place: Place) -> None:
    place.write("a.yaml", RIGHT)
    place.write("b.yaml", "command: x\n")
    place.write("c.yaml", "nodes: 2\n")
    check_refused(
        place,
        "submit",
        "a.yaml",
        "b.yaml",
        "c.yaml",
        code=Exit.USAGE,
        kind="Invalid",
        says=("b.yaml", "c.yaml"),
    )


@pytest.fixture
def shared() -> Iterator[Place]:
    with open_place() as place:
        yield place


@needs_root
def test_what_may_not_be_read_is_refused(shared: Place) -> None:
    place, tmp_path = shared, shared.directory
    own = tmp_path / "nobody"
    own.mkdir()
    os.chown(own, 65534, 65534)
    env = place.env(DISPATCH_RECORDS=str(own / "records.db"), HOME=str(own))
    place.write("secret.yaml", RIGHT)
    (place.directory / "secret.yaml").chmod(0o600)
    said = place.run("submit", "secret.yaml", "--json", env=env, through=NOBODY)
    assert (said.code, said.error["kind"]) == (Exit.USAGE, "Invalid"), said
    assert "permission denied" in said.error["what"]
    place.config.chmod(0o600)
    said = place.run("submit", "secret.yaml", "--json", env=env, through=NOBODY)
    assert (said.code, said.error["kind"]) == (Exit.USAGE, "Invalid"), said
    assert "dispatch.toml cannot be read: permission denied" in said.error["what"]


# ---------------------------------------------------------------- the plan, and the configuration


def test_a_policy_that_the_cluster_cannot_honour_is_refused_with_every_reason(place: Place) -> None:
    place.write(
        "j.yaml",
        "command: [x]\nrecovery: {rules: [{when: [Preempted], do: restart}, {when: [NodeLost], do: hold}]}\n"
        "signalBefore: {signal: USR1, lead: 1m}\n",
    )
    place.config.write_text(f"{CONFIG}[clusters.poor]\nadapter = 'memory'\n{POOR}")
    says = (
        "rules[0]: the action restart",
        "rules[1]: it holds",
        "signalBefore: it needs a timeLimit",
    )
    check_refused(
        place, "submit", "j.yaml", "--cluster", "poor", code=Exit.REFUSED, kind="Refused", says=says
    )
    check_refused(
        place, "plan", "j.yaml", "--cluster", "poor", code=Exit.REFUSED, kind="Refused", says=says
    )


POOR = """
[clusters.poor.settings.capabilities]
Hold = { value = "no", source = "probed", reason = "begin times are cut" }
[clusters.poor.settings.rules]
restart = { value = "no", source = "probed", reason = "no requeue" }
"""


@pytest.mark.parametrize(("words", "says"), [
    (("submit", "right.yaml", "--cluster", "nosuch"), ("'nosuch'", "known: away, c", "dispatch.toml")),
    (("submit", "right.yaml", "--cluster", "awax"), ("did you mean away?",)),
    (("submit", "right.yaml", "--key", "x" * 200), ("key", "1 to 128 characters")),
    (("submit", "right.yaml", "--key", ""), ("key", "1 to 128 characters")),
    (("submit", "right.yaml", "--key", "a\x1b[2Jb"), ("key", "control character")),
])  # fmt: skip
def test_a_wrong_word_of_the_command_line_is_refused(
    words: tuple[str, ...], says: tuple[str, ...], place: Place
) -> None:
    place.write("right.yaml", RIGHT)
    check_refused(place, *words, code=Exit.USAGE, kind="Invalid", says=says)


@pytest.mark.parametrize("words", [
    ("submit", "right.yaml", "--key", "\udcff"), ("submit", "\udcff.yaml"), ("show", "\udcff"), ("stop", "x", "--why", "\udcff"),
    ("status", "--name", "\udcff"), ("status", "--label", "a=\udcff"), ("status", "--user", "\udcff"),
])  # fmt: skip
def test_a_word_that_is_not_utf_8_is_refused(words: tuple[str, ...], place: Place) -> None:
    place.write("right.yaml", RIGHT)
    check_refused(place, *words, code=Exit.USAGE, kind="Usage", says=("\\udcff", "not UTF-8"))


@pytest.mark.parametrize(("content", "says"), [
    ("defaultCluster = 'x'\n", ("defaultCluster", "'x'")),
    ("[clusters.c]\nadaptor = 'memory'\n", ("dispatch.toml: clusters.c.adaptor", "did you mean adapter")),
    ("[clusters.c\n", ("dispatch.toml", "line 1")),
    ("\xff", ("dispatch.toml",)),
    ("[clusters.c]\nadapter = 'nosuch'\n", ("'nosuch'", "memory")),
    ("[clusters.c]\nadapter = 'memory'\nsettings = { nods = 3 }\n", ("nods", "did you mean nodes")),
    ("[supervisor]\npoll = '10ms'\n", ("supervisor.poll", "at least 1s")),
    ("", ("[clusters.NAME]",)),
])  # fmt: skip
def test_a_malformed_configuration_is_refused(
    content: str, says: tuple[str, ...], place: Place
) -> None:
    place.write("right.yaml", RIGHT)
    place.config.write_bytes(content.encode("latin-1"))
    check_refused(
        place, "submit", "right.yaml", code=Exit.USAGE, kind="Invalid", says=says, afterwards=False
    )
    place.config.write_text(CONFIG)
    assert place.jobs() == []
    works(place)
