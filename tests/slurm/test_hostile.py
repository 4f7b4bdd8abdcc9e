"""Hostile texts in every field of a job file: refused by the field's name, or taken whole to where they belong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dispatch.adapters.slurm.writing.checking import check_job
from dispatch.adapters.slurm.writing.options import OWNED
from dispatch.model import codec
from dispatch.model.errors import DispatchError, Invalid
from dispatch.model.job import Job, SlurmOptions
from dispatch.shell.config import Config
from dispatch.shell.files import load_job
from hostile import CANARY, TEXTS, TOO_LONG, Place, places

PLACES = {place.path + f" ({type(place.kind).__name__})": place for place in places()}
TEXT_PATHS = {place.path for place in PLACES.values() if place.is_text}
LONG = tuple(name for name, text in TEXTS.items() if len(text) > TOO_LONG - 1000)
"""Read by the slow reader, that of YAML, in one place only."""


def write(directory: Path, ending: str, document: Any) -> Path:
    """Write a job file: JSON in its escapes, YAML with all letters as they are, and so not always in UTF-8."""
    path = directory / f"job.{ending}"
    text = json.dumps(document, ensure_ascii=ending == "json")
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


def loaded(path: Path) -> Job | DispatchError:
    try:
        return load_job(path, Config())
    except DispatchError as error:
        return error


def check_refusal(error: DispatchError, place: Place, name: str) -> None:
    """It is told what is wrong, where, and what is allowed, in a text that any terminal bears."""
    assert isinstance(error, Invalid), f"{place.path}, {name}: {error!r}"
    said = str(error)
    assert len(said) < 20_000, f"{place.path}, {name}: {len(said)} characters"
    assert CANARY not in said or len(said) < 4_000
    strange = [letter for letter in said if not letter.isprintable() and letter != "\n"]
    assert not strange, f"{place.path}, {name}: {strange} in {said!r}"
    if error.faults:
        assert any(fault.path.startswith(place.told) for fault in error.faults), f"{name}: {said}"
        assert all(fault.found and fault.allowed for fault in error.faults)
    else:
        assert "line " in error.what, f"{place.path}, {name}: no place in {said}"
        assert error.todo


def test_every_kind_of_place_is_among_those_that_are_tried() -> None:
    paths = {place.path for place in PLACES.values()}
    assert {
        "command[0]",
        "labels.{key}",
        "env.{}",
        "secretEnv.{}.file",
        "slurm.options.{key}",
    } <= paths
    assert {
        "recovery.rules[0].with.env.{key}",
        "recovery.notify.command[0]",
        "after[0].job",
    } <= paths
    assert {field.split(".")[0].split("[")[0] for field in paths} == set(
        Job.__struct_encode_fields__
    )


@pytest.mark.parametrize("place", PLACES)
def test_what_is_right_is_taken(place: str, tmp_path: Path) -> None:
    here = PLACES[place]
    document = here.document(here.right)
    job = loaded(write(tmp_path, "json", document))
    if here.path == "recovery":
        assert "the policy" in str(job)
    else:
        assert isinstance(job, Job), job


@pytest.mark.parametrize("place", PLACES)
def test_a_hostile_text_is_taken_byte_for_byte_or_refused_by_its_field(
    place: str, tmp_path: Path
) -> None:
    here = PLACES[place]
    for ending in ("json", "yaml"):
        for name, text in TEXTS.items():
            if ending == "yaml" and name in LONG and here.path != "name":
                continue
            document = here.document(text)
            job = loaded(write(tmp_path, ending, document))
            if isinstance(job, DispatchError):
                check_refusal(job, here, name)
                continue
            assert here.path in TEXT_PATHS, f"{here.path} takes {name}"
            plain = codec.to_builtins(job)
            assert here.value(plain) == text, f"{here.path} changes {name}"
            assert codec.decode(codec.encode(job), Job) == job


@pytest.mark.parametrize(
    "content", [b"name: \xff\ncommand: [x]\n", b'{"command": ["\xc3\x28"]}', b"\xfe\xff\x00n"]
)
@pytest.mark.parametrize("ending", ["yaml", "json", "toml"])
def test_a_file_that_is_not_utf_8_is_refused_by_its_line(
    content: bytes, ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"job.{ending}"
    path.write_bytes(content)
    error = loaded(path)
    assert isinstance(error, Invalid)
    assert "line 1: the byte 0x" in error.what
    assert "UTF-8" in error.todo


@pytest.mark.parametrize(
    "name", ["DISPATCH_EPOCH", "dispatch_setup", "dispatch_task", "Dispatch_env"]
)
@pytest.mark.parametrize("where", ["env", "secretEnv", "recovery.rules[0].with.env"])
def test_a_variable_of_the_job_script_is_refused_as_ours(
    name: str, where: str, tmp_path: Path
) -> None:
    """The script would run the text of dispatch_setup."""
    [place] = [one for one in PLACES.values() if one.path == f"{where}.{{key}}"]
    error = loaded(write(tmp_path, "yaml", place.document(name)))
    assert isinstance(error, Invalid)
    [fault] = error.faults
    assert fault.path == f"{where}.{name}"
    assert "ours alone" in fault.allowed


@pytest.mark.parametrize(
    "name", sorted({own[:size] for own in OWNED for size in range(1, len(own) + 1)})
)
def test_no_beginning_of_an_option_of_ours_is_passed_on(name: str) -> None:
    """sbatch takes --wr for --wrap, and runs its text in a shell."""
    if name.endswith("-"):
        return
    options = SlurmOptions(options={name: f"touch {CANARY}"})
    with pytest.raises(Invalid) as caught:
        check_job(Job(command=("true",), slurm=options), "~/.dispatch")
    [fault] = caught.value.faults
    assert fault.path == f"slurm.options.{name}"


@pytest.mark.parametrize(("field", "value", "said"), [
    ("output", "a\\b", "without backslashes"), ("output", "%N", "%j (job)"), ("workdir", "a\nb", "in one line"),
    ("workdir", "x" * 256, "255 bytes"), ("output", "x/" * 2_000, "3800 bytes"),
])  # fmt: skip
def test_a_path_that_slurm_cannot_take_is_refused_by_its_field(
    field: str, value: str, said: str
) -> None:
    job = Job(command=("true",), **{field: value})  # type: ignore[arg-type]
    with pytest.raises(Invalid) as caught:
        check_job(job, "~/.dispatch")
    assert [fault.path for fault in caught.value.faults] == [field]
    assert said in str(caught.value)
