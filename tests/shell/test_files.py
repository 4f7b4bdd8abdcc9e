"""Files that people write: what they hold, and the word on every way in which they can be wrong."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, strategies as st
from ruamel.yaml import YAML

from dispatch.model import codec
from dispatch.model.errors import DispatchError, Fault, Invalid, NotFound
from dispatch.model.job import Job
from dispatch.model.policy import Policy
from dispatch.shell.config import Config
from dispatch.shell.files import LARGEST, load_job, read_document

EXAMPLES = {
    "yaml": 'command: [train, --lr, "1e-3"]\nnodes: 4\nlabels: {run: "017"}\n',
    "toml": 'command = ["train", "--lr", "1e-3"]\nnodes = 4\n[labels]\nrun = "017"\n',
    "json": '{"command": ["train", "--lr", "1e-3"], "nodes": 4, "labels": {"run": "017"}}',
}


def write(directory: Path, name: str, text: str | bytes) -> Path:
    path = directory / name
    path.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    return path


def refusal(path: Path, text: str | bytes | None = None) -> DispatchError:
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises((Invalid, NotFound)) as caught:
        read_document(path)
    return caught.value


def faults(path: Path, text: str) -> list[Fault]:
    error = refusal(path, text)
    assert isinstance(error, Invalid)
    return list(error.faults)


# ---------------------------------------------------------------- what is read


@pytest.mark.parametrize("ending", EXAMPLES)
def test_a_job_reads_the_same_in_every_form(ending: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"train.{ending}", EXAMPLES[ending])
    expected = Job(command=("train", "--lr", "1e-3"), nodes=4, labels={"run": "017"})
    assert load_job(path, Config()) == expected


def test_the_ending_may_be_yml_and_in_capitals(tmp_path: Path) -> None:
    assert read_document(write(tmp_path, "a.yml", "a: b")) == {"a": "b"}
    assert read_document(write(tmp_path, "a.YAML", "a: b")) == {"a": "b"}


def test_a_dash_is_yaml_on_standard_input() -> None:
    assert read_document(Path("-"), stdin=io.BytesIO(b"a: [b]")) == {"a": ["b"]}


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    assert read_document(write(tmp_path, "a.yaml", "\ufeffa: b")) == {"a": "b"}
    assert read_document(write(tmp_path, "a.json", '\ufeff{"a": "b"}')) == {"a": "b"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"), ("no", "no"), ("on", "on"), ("Off", "Off"),  # YAML 1.1 would say truth values
        ("1:30", "1:30"), ("1-00:00:00", "1-00:00:00"), ("12:30:00", "12:30:00"),  # and numbers
        ("2026-11-30", "2026-11-30"),  # and a date
        ("true", True), ("False", False), ("~", None), ("", None), ("null", None),
        ("16", 16), ("-5", -5), ("+5", 5), ("0x1F", 31), ("0o17", 15), ("0", 0),
        ("1.5", 1.5), ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0),
        ('"16"', "16"), ("'true'", "true"), ("|\n  text\n", "text\n"), (">-\n  a\n  b\n", "a b"),
        ("90s", "90s"), ("200G", "200G"), ("1e", "1e"), ("0x", "0x"), ("-", [None]), ("1.2.3", "1.2.3"),
    ],
)  # fmt: skip
def test_scalars_are_those_of_yaml_1_2(text: str, value: object, tmp_path: Path) -> None:
    separator = "\n" if text == "-" else " "
    data = read_document(write(tmp_path, "a.yaml", f"a:{separator}{text}"))
    assert data == {"a": value}
    assert type(cast("dict[str, object]", data)["a"]) is type(value)


def test_infinity_and_nan_are_read_and_then_refused(tmp_path: Path) -> None:
    for name, text in (
        ("a.yaml", "command: [.inf, -.INF, .nan]"),
        ("a.json", '{"command": [Infinity, -Infinity, NaN]}'),
        ("a.toml", "command = [inf, -inf, nan]"),
    ):
        with pytest.raises(Invalid) as caught:
            load_job(write(tmp_path, name, text), Config())
        assert [fault.path for fault in caught.value.faults] == [
            "command[0]",
            "command[1]",
            "command[2]",
        ]


def test_an_alias_stands_for_what_its_anchor_names(tmp_path: Path) -> None:
    text = "a: &x [1, {b: c}]\nd: *x\n"
    assert read_document(write(tmp_path, "a.yaml", text)) == {
        "a": [1, {"b": "c"}],
        "d": [1, {"b": "c"}],
    }


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from("abc"), plain, min_size=1))
def test_what_a_yaml_1_2_writer_writes_is_read_back(data: dict[str, Any]) -> None:
    writer, out = YAML(typ="safe", pure=True), io.BytesIO()
    writer.default_flow_style, writer.width = False, 1_000_000  # its flow style it cannot read back
    writer.dump(data, out)  # pyright: ignore[reportUnknownMemberType]
    assert read_document(Path("-"), stdin=io.BytesIO(out.getvalue())) == data


@given(
    st.binary(max_size=200)
    | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
)
def test_whatever_the_bytes_are_the_answer_is_data_or_a_refusal(content: bytes) -> None:
    told = "read"
    try:
        read_document(Path("-"), stdin=io.BytesIO(content))
    except Invalid as error:
        told = error.what
    assert told


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#?,%@ \n\t1.", max_size=40))
def test_whatever_the_yaml_is_the_answer_is_data_or_a_refusal(text: str) -> None:
    told = "read"
    try:
        read_document(Path("-"), stdin=io.BytesIO(text.encode()))
    except Invalid as error:
        told = error.what
    assert told


# ---------------------------------------------------------------- files that are none


def test_a_missing_file_suggests_its_neighbour(tmp_path: Path) -> None:
    write(tmp_path, "train.yml", "a: b")
    error = refusal(tmp_path / "train.yaml")
    assert isinstance(error, NotFound)
    assert str(error).endswith(f"Did you mean {tmp_path}/train.yml?")
    assert "no directory" in str(refusal(tmp_path / "away" / "train.yaml"))


@pytest.mark.parametrize(
    ("name", "words"),
    [("train", "ends in nothing"), ("train.py", "ends in .py"), ("train.yaml.bak", "ends in .bak")],
)
def test_an_ending_that_tells_nothing_is_refused(name: str, words: str, tmp_path: Path) -> None:
    assert words in str(refusal(tmp_path / name, "a: b"))


def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "d.yaml").mkdir()
    os.mkfifo(tmp_path / "p.yaml")
    (tmp_path / "n.yaml").symlink_to("/dev/zero")
    (tmp_path / "l.yaml").symlink_to(tmp_path / "l.yaml")
    assert "is a directory" in str(refusal(tmp_path / "d.yaml"))
    assert "no regular file" in str(refusal(tmp_path / "p.yaml"))
    assert "no regular file" in str(refusal(tmp_path / "n.yaml"))
    assert "symbolic links" in str(refusal(tmp_path / "l.yaml"))
    assert "cannot be read" in str(refusal(tmp_path / "a\0.yaml"))
    assert "cannot be read" in str(refusal(tmp_path / ("a" * 300 + ".yaml")))


def test_a_file_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    path = write(tmp_path, "a.yaml", "a: b")
    path.chmod(0)
    if os.getuid() == 0:  # root may read everything
        os.seteuid(65534)
    try:
        error = refusal(path)
    finally:
        os.seteuid(os.getuid())
    assert "permission denied" in str(error)


@pytest.mark.parametrize("ending", ["yaml", "json"])
@pytest.mark.parametrize("text", ["", "  \n\n"])
def test_an_empty_file_says_so(ending: str, text: str, tmp_path: Path) -> None:
    assert "is empty" in str(refusal(tmp_path / f"a.{ending}", text))


@pytest.mark.parametrize("text", ["# nothing\n", "---\n", "--- ~\n", "null"])
def test_yaml_that_says_nothing_is_empty(text: str, tmp_path: Path) -> None:
    assert "is empty" in str(refusal(tmp_path / "a.yaml", text))


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    assert f"more than {LARGEST} bytes" in str(refusal(tmp_path / "a.yaml", b"#" * (LARGEST + 1)))


def test_bytes_that_are_no_utf_8_are_placed(tmp_path: Path) -> None:
    assert "line 2: the byte 0xe9" in str(refusal(tmp_path / "a.yaml", b"a: b\nname: caf\xe9\n"))
    assert "is not UTF-8" in str(refusal(tmp_path / "a.json", '{"a": 1}'.encode("utf-16")))


# ---------------------------------------------------------------- syntax


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.yaml", "a:\n\t- b", "line 2, column 1: a tab"),
        ("a.yaml", "a: [1,", "line 1, column 7: this is no YAML: expected the node content"),
        (
            "a.yaml",
            "a: b: c",
            "line 1, column 5: this is no YAML: mapping values are not allowed here",
        ),
        ("a.yaml", "a: \x07", "line 1, column 4: the character U+0007"),
        ("a.yaml", "a: b\nc: \x1b", "line 2, column 4: the character U+001B"),
        ("a.yaml", "a: b\n---\nc: d", "line 2: a second YAML document"),
        ("a.yaml", "a: b\n...\n---\n", "a second YAML document"),
        ("a.yaml", "%YAML 1.1\n---\na: b", "asks for YAML 1.1"),
        ("a.yaml", "[" * 40 + "]" * 40, "deeper than 32 levels"),
        ("a.yaml", "- " * 5000 + "x", "deeper than 32 levels"),
        ("a.yaml", "[" * 100000, "deeper than 32 levels"),
        ("a.toml", "a = 1\na = 2", "line 2"),
        ("a.toml", "a = ", "line 1"),
        ("a.toml", "a = " + "[" * 100000, "nesting is too deep"),
        ("a.json", '{"a": 1,}', "line 1, column"),
        ("a.json", "{'a': 1}", "line 1, column 2"),
        ("a.json", "[" * 100000, "nesting is too deep"),
        ("a.json", "[" + "9" * 5000 + "]", "no JSON that can be read"),
    ],
)
def test_broken_syntax_is_placed(name: str, text: str, words: str, tmp_path: Path) -> None:
    error = refusal(tmp_path / name, text)
    assert words in error.what
    assert str(tmp_path / name) in error.what
    assert len(str(error)) < 600


@pytest.mark.parametrize(
    ("text", "path", "line", "found"),
    [
        ("a: 1\nb: 2\na: 3", "a", 3, "the key 'a' again, after line 1"),
        ("x:\n- {a: 1}\n- {a: 1, a: 2}", "x[1].a", 3, "the key 'a' again, after line 3"),
        ("a: !!python/object/apply:os.system [ls]", "a", 1, "the YAML tag tag:yaml.org,2002:python/object/apply:os.system"),
        ("a: !!str 5", "a", 1, "the YAML tag tag:yaml.org,2002:str"),
        ("a: !mine 5", "a", 1, "the YAML tag !mine"),
        ("b: &b {c: d}\na:\n  <<: *b", "a.<<", 3, "a merge key"),
        ("a: *b", "a", 1, "the alias *b"),
        ("a: &a\n- *a", "a[0]", 2, "*a within &a itself"),
        ("a: 1_000", "a", 1, "'1_000'"),
        ("a: 0755", "a", 1, "'0755'"),
        ("? [a]\n: b", "the document", 1, "a key that is a list or a mapping"),
    ],
)  # fmt: skip
def test_yaml_that_could_be_misread_is_a_fault(
    text: str, path: str, line: int, found: str, tmp_path: Path
) -> None:
    [fault] = faults(tmp_path / "a.yaml", text)
    fault_path = fault.path.replace("['<<']", ".<<")
    assert (fault_path, fault.line, fault.found) == (path, line, found)
    assert str(fault).startswith(f"line {line}, ")


def test_a_key_twice_in_json_is_a_fault(tmp_path: Path) -> None:
    told = faults(
        tmp_path / "a.json", '{"recovery": {"rules": [], "rules": []}, "a": 1, "a": 1, "b": 2}'
    )
    assert [(fault.path, fault.found) for fault in told] == [
        ("rules", "the key more than once"),
        ("a", "the key more than once"),
    ]


def test_a_thousand_faults_of_yaml_are_cut_off(tmp_path: Path) -> None:
    assert len(faults(tmp_path / "a.yaml", "a: 1\n" * 1000)) == 101


def test_dates_and_times_of_toml_are_faults(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "a.toml",
        'command = ["x"]\nkey = 2026-11-30\nname = 12:00:00\nworkdir = 2026-11-30T12:00:00Z',
    )
    with pytest.raises(Invalid) as caught:
        load_job(path, Config())
    assert [fault.path for fault in caught.value.faults] == ["name", "key", "workdir"]


# ---------------------------------------------------------------- jobs


def test_the_faults_of_a_job_have_their_lines(tmp_path: Path) -> None:
    text = """\
command: [train]
nodes: "16"
recovery:
  rules:
  - when: [Preempted]
    do: resubmit
  - when: [Preempt]
    do: resubmit
  crashLoop:
    executions: 3
"""
    with pytest.raises(Invalid) as caught:
        load_job(write(tmp_path, "a.yaml", text), Config())
    told = {fault.path: fault.line for fault in caught.value.faults}
    assert told == {"nodes": 2, "recovery.rules[1].when[0]": 7, "recovery.crashLoop.shorterThan": 9}


def test_a_named_policy_comes_from_the_configuration(tmp_path: Path) -> None:
    path = write(tmp_path, "a.yaml", "command: [train]\nrecovery: spot")
    config = Config(policies={"spot": Policy()}, files=("c.toml",))
    assert load_job(path, config).recovery == Policy()
    with pytest.raises(Invalid) as caught:
        load_job(path, Config(policies={"sport": Policy()}, files=("c.toml",)))
    [fault] = caught.value.faults
    assert (fault.path, fault.line, fault.found) == ("recovery", 2, "the policy 'spot'")
    assert "(sport; read from c.toml)" in fault.allowed


def test_nothing_is_filled_in(tmp_path: Path) -> None:
    path = write(tmp_path, "a.yaml", "command: [train]")
    assert codec.encode(load_job(path, Config(default_cluster="x"))) == b'{"command":["train"]}'


def test_json_written_by_dispatch_is_a_job_file(tmp_path: Path) -> None:
    job = Job(command=("a", "ü", "😀"), env={"A": 'quote"'})
    path = write(tmp_path, "a.json", json.dumps(codec.to_builtins(job)))
    assert load_job(path, Config()) == job
