"""Documents that people write: all that is valid is taken as it is, and every fault is told, at once and by its path."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec import inspect

from dispatch.model import codec
from dispatch.model.base import Instant, Value
from dispatch.model.documents import (
    DEEPEST,
    LONGEST_TEXT,
    MOST_FAULTS,
    MOST_NODES,
    check_value,
    decode_document,
)
from dispatch.model.errors import Fault, Invalid
from dispatch.model.job import Job, Launcher
from dispatch.model.policy import Policy
from dispatch.model.quantity import Duration, Size, TimeLimit


def faults(data: object, kind: type = Job, path: str = "") -> dict[str, Fault]:
    with pytest.raises(Invalid) as caught:
        decode_document(data, kind, where="train.yaml", path=path)
    assert caught.value.faults
    return {fault.path: fault for fault in caught.value.faults}


def job(**fields: object) -> dict[str, object]:
    return {"command": ["train"], **fields}


# ---------------------------------------------------------------- what is valid


def values(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Generate values of a type as msgspec describes it."""
    match kind:
        case inspect.Metadata():
            return values(kind.type)
        case inspect.UnionType():
            return st.one_of([values(item) for item in kind.types])
        case inspect.NoneType():
            return st.none()
        case inspect.BoolType():
            return st.booleans()
        case inspect.IntType():
            return st.integers(
                kind.ge if kind.ge is not None else -5, kind.le if kind.le is not None else 10**6
            )
        case inspect.StrType(pattern=str() as pattern):
            return st.from_regex(pattern, fullmatch=True).filter(lambda text: "\n" not in text)
        case inspect.StrType():
            characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
            return st.text(characters, min_size=kind.min_length or 0, max_size=5)
        case inspect.EnumType():
            return st.sampled_from(list(kind.cls))
        case inspect.CustomType():
            made: dict[type, st.SearchStrategy[Any]] = {
                Duration: st.integers(0, 10**9).map(Duration.of_ms),
                TimeLimit: st.integers(0, 10**9).map(TimeLimit.of_ms),
                Size: st.integers(1, 10**6).map(lambda count: Size(count * 1024)),
            }
            return made[kind.cls]
        case inspect.VarTupleType():
            least = kind.min_length or 0
            return st.lists(values(kind.item_type), min_size=least, max_size=2).map(tuple)
        case inspect.DictType():
            return st.dictionaries(values(kind.key_type), values(kind.value_type), max_size=2)
        case inspect.StructType():
            return structs(kind)
        case _:
            raise AssertionError(kind)


def structs(kind: inspect.StructType) -> st.SearchStrategy[Any]:
    required = {field.name: values(field.type) for field in kind.fields if field.required}
    optional = {field.name: values(field.type) for field in kind.fields if not field.required}

    def make(fields: dict[str, object]) -> object:
        try:
            return kind.cls(**fields)
        except Invalid:
            return None

    made = st.fixed_dictionaries(required, optional=optional).map(make)
    return made.filter(lambda value: value is not None)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(values(inspect.type_info(Job)))
def test_a_valid_job_decodes_as_the_codec_decodes_it(value: Job) -> None:
    text = codec.encode(value)
    decoded = decode_document(json.loads(text), Job, where="x")
    assert decoded == value == codec.decode(text, Job)
    assert type(decoded.time_limit) is type(value.time_limit)
    assert codec.encode(decoded) == text
    assert check_value(value, where="x") == value


def test_the_words_of_yaml_become_values() -> None:
    data = job(
        timeLimit="1-00:00:00",
        memory="200G",
        launcher="torchrun",
        recovery={"rules": [{"when": ["Preempted", {"cause": "NodeLost"}], "do": "resubmit"}]},
    )
    value = decode_document(data, Job, where="train.yaml")
    assert value.time_limit == Duration(hours=24)
    assert value.memory == 200 * 10**9
    assert value.launcher is Launcher.TORCHRUN
    assert isinstance(value.recovery, Policy)
    assert value.recovery.rules[0].when[0] == "Preempted"


def test_the_name_of_a_policy_stands_where_a_policy_may() -> None:
    assert decode_document(job(recovery="spot"), Job, where="x").recovery == "spot"


def test_null_is_nothing_where_a_field_may_be_absent() -> None:
    assert decode_document(job(partition=None), Job, where="x") == Job(command=("train",))


# ---------------------------------------------------------------- what is wrong


def test_every_fault_is_told_at_once() -> None:
    data: dict[str, object] = {
        "comand": ["train"],
        "nodes": "16",
        "gpusPerNode": 8.5,
        "exclusive": "yes",
        "env": {"DISPATCH_EPOCH": "1", "PORT": 8080},
        "recovery": {
            "rules": [
                {
                    "when": ["Preempt", {"cause": "NonZeroExit", "exitCode": [300]}, "Gated"],
                    "do": "x",
                },
                {"when": [], "do": "hold", "within": "3h"},
            ],
            "crashLoop": {"executions": 1},
        },
    }
    assert list(faults(data)) == [
        "comand",
        "env.PORT",
        "nodes",
        "gpusPerNode",
        "exclusive",
        "recovery.rules[0].when[0]",
        "recovery.rules[0].when[1].exitCode[0]",
        "recovery.rules[0].do",
        "recovery.rules[0].when[2]",
        "recovery.rules[1].when",
        "recovery.rules[1].within",
        "recovery.crashLoop.executions",
        "recovery.crashLoop.shorterThan",
        "command",
        "env.DISPATCH_EPOCH",
    ]


@pytest.mark.parametrize(
    ("field", "value", "found", "allowed"),
    [
        ("nodes", "16", "'16' (text)", "a whole number from 1 to 100000; write it without quotes: 16"),
        ("nodes", True, "true (a truth value)", "a whole number from 1 to 100000"),
        ("nodes", 1.0, "1.0 (a number with a fraction)", "a whole number from 1 to 100000"),
        ("nodes", 0, "0 (a number)", "a whole number from 1 to 100000"),
        ("nodes", None, "nothing (null)", "a whole number from 1 to 100000"),
        ("priority", 2**63, "9223372036854775808 (a number)", "a whole number"),
        ("exclusive", "no", "'no' (text)", "true or false; write false without quotes"),
        ("exclusive", 1, "1 (a number)", "true or false"),
        ("workdir", "", "'' (text)", "text: non-empty text"),
        ("workdir", 7, "7 (a number)", 'text: non-empty text; write it in quotes: "7"'),
        ("launcher", "Torchrunn", "'Torchrunn' (text); did you mean torchrun?", "one of plain, srun, torchrun, mpi"),
        ("launcher", 1, "1 (a number)", "one of plain, srun, torchrun, mpi"),
        ("timeLimit", 90, "90 (a number)", TimeLimit.ALLOWED),
        ("timeLimit", "24 h", "'24 h' (text)", TimeLimit.ALLOWED),
        ("timeLimit", "99999d", "'99999d' (text)", "a duration between 0s and 10000d"),
        ("timeLimit", "9" * 5000 + "s", None, TimeLimit.ALLOWED),
        ("memory", "200", "'200' (text)", Size.ALLOWED),
        ("command", "python x", "'python x' (text)", "a list of texts: a list: the program and its arguments; write it in brackets: [a, b]"),
        ("command", [], "[] (a list)", "a list of texts: a list: the program and its arguments"),
        ("labels", ["a"], "['a'] (a list)", "a mapping of names to texts"),
        ("container", "img", "'img' (text)", "a mapping with the fields image, mounts, workdir"),
        ("container", {}, "nothing", "text: non-empty text; this field is required"),
        ("matrix", {"lr": [0.001]}, "0.001 (a number with a fraction)", 'text, or a whole number; write it in quotes: "0.001"'),
        ("key", dt.date(2026, 11, 30), "2026-11-30 (a date or time)", 'text: 1 to 128 characters, none of them a control character; write it in quotes: "2026-11-30"'),
        ("partition", "gpu\n", "'gpu\\n' (text)", None),
        ("workdir", "a\0b", "'a\\x00b', with a NUL character", "no NUL in any text"),
        ("workdir", "\ud800", "'\\ud800', with half of a surrogate pair", "characters that UTF-8 can hold"),
        ("workdir", "é" * 65536, "131072 bytes", f"at most {LONGEST_TEXT}, the kernel's limit for one argument"),
        ("env", {"A B": "x"}, "'A B' (text)", "text: letters, digits and _, not starting with a digit"),
        ("env", {1: "x"}, "1 (a number)", None),
    ],
)  # fmt: skip
def test_a_fault_tells_what_was_found_and_what_is_allowed(
    field: str, value: object, found: str | None, allowed: str | None
) -> None:
    [fault] = faults(job() | {field: value}).values()
    assert fault.path.startswith(field)
    assert found is None or fault.found == found
    assert allowed is None or fault.allowed == allowed
    assert len(fault.found) < 200


@pytest.mark.parametrize(
    ("written", "meant"),
    [("timelimit", "timeLimit"), ("time_limit", "timeLimit"), ("time-limit", "timeLimit"), ("gpuPerNode", "gpusPerNode"), ("colour", None)],
)  # fmt: skip
def test_an_unknown_field_suggests_the_nearest(written: str, meant: str | None) -> None:
    fault = faults(job() | {written: "1h"})[written]
    assert fault.found == "an unknown field" + (f"; did you mean {meant}?" if meant else "")
    assert fault.allowed.startswith("the fields command, name, key, ")


def test_a_document_that_is_no_mapping_says_so() -> None:
    assert faults(["train"])["the document"].found == "['train'] (a list)"
    assert faults(None)["the document"].found == "nothing (null)"


def test_keys_that_are_no_plain_words_are_quoted_in_paths() -> None:
    assert list(faults(job(env={"A.B": "x"}))) == ["env['A.B']"]


def test_a_path_may_begin_outside_of_the_data() -> None:
    assert list(faults({"rules": 1}, Policy, path="policies.spot")) == ["policies.spot.rules"]
    assert list(faults({"notify": {"on": ["Held"]}}, Policy, path="p")) == ["p.notify.command"]


@pytest.mark.parametrize(
    ("data", "paths"),
    [
        (job(gpuPerNode=8, gpuType="h100"), ["gpuPerNode"]),
        (job(gpusPerNode="8", gpuType="h100"), ["gpusPerNode"]),
        (job(matrix={"lr": []}, maxActive=2), ["matrix.lr"]),
        (job(gpuType="h100"), ["gpuType"]),
        (job(env={"A": 1}, secretEnv={"A": {"file": "x"}}), ["env.A"]),
        (job(recovery={"rules": [{"when": ["Timeout"], "do": "restrat", "orElse": "fail"}]}), ["recovery.rules[0].do"]),
    ],
)  # fmt: skip
def test_a_cross_check_says_nothing_of_a_field_that_is_at_fault_itself(
    data: dict[str, object], paths: list[str]
) -> None:
    assert list(faults(data)) == paths


def test_a_refusal_without_a_path_is_told_of_the_whole() -> None:
    class Window(Value):
        first: int
        last: int

        def __post_init__(self) -> None:
            if self.last < self.first:
                raise ValueError("last must not be before first")

    fault = faults({"first": 2, "last": 1}, Window, path="window")["window"]
    assert (fault.found, fault.allowed) == (
        "these fields together",
        "last must not be before first",
    )


def test_moments_and_settings_are_held_to_the_same_rules() -> None:
    class Settings(Value):
        since: Instant
        more: dict[str, Any] = {}

    good = {"since": "2026-11-30T12:00:00Z", "more": {"a": [1, None, True, "x", {"b": 2}]}}
    assert decode_document(good, Settings, where="x").more == good["more"]
    wrong = faults(
        {
            "since": "yesterday",
            "more": {"a": [1.5, {"b": "\0"}], "c": dt.date(2026, 1, 1), "d": 2**70},
        },
        Settings,
    )
    assert list(wrong) == ["since", "more.a[0]", "more.a[1].b", "more.c", "more.d"]


# ---------------------------------------------------------------- bounds


def test_a_bomb_of_aliases_is_one_fault() -> None:
    bomb: list[Any] = ["x"] * 10
    for _ in range(9):
        bomb = [bomb] * 10

    class Settings(Value):
        more: dict[str, Any]

    [fault] = faults({"more": {"a": bomb}}, Settings).values()
    assert str(MOST_NODES) in fault.allowed
    [fault] = faults(job(name=bomb)).values()
    assert len(fault.found) < 1000


def test_deep_nesting_is_one_fault() -> None:
    deep: Any = "x"
    for _ in range(DEEPEST + 1):
        deep = [deep]

    class Settings(Value):
        more: dict[str, Any]

    [fault] = faults({"more": {"a": deep}}, Settings).values()
    assert fault.found == "deeper nesting"


def test_a_thousand_faults_are_cut_off() -> None:
    wrong = faults(job(labels={f"l{i}": i for i in range(1000)}))
    assert len(wrong) == MOST_FAULTS + 1
    assert list(wrong.values())[-1].found == "yet more faults"


# ---------------------------------------------------------------- values made in Python


def test_a_value_made_in_python_is_held_to_the_same() -> None:
    with pytest.raises(Invalid) as caught:
        check_value(Job(command=("train", "a\0b"), nodes=cast("Any", "16")), where="job")
    assert [fault.path for fault in caught.value.faults] == ["command[1]", "nodes"]


def test_a_value_of_no_known_type_is_refused() -> None:
    with pytest.raises(Invalid, match="of a type that it cannot have"):
        check_value(Job(command=("train", cast("Any", object()))), where="job")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["command", "recovery", "rules", "env", "when"]) | st.text(), inner),
    )
)  # fmt: skip
def test_whatever_is_written_the_answer_is_a_value_or_faults(data: object) -> None:
    for document in (data, {"command": data, "recovery": data, "env": data, "matrix": {"a": data}}):
        told = ""
        try:
            decode_document(document, Job, where="x")
        except Invalid as error:
            told = str(error) if error.faults else "\ud800"
        assert told.encode() is not None
