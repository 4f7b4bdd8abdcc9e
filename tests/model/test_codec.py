"""The codec: canonical JSON out, strict in."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from dispatch.model.base import Instant, Value
from dispatch.model.codec import decode, encode, fingerprint, to_builtins
from dispatch.model.errors import Invalid
from dispatch.model.quantity import Duration, Size, TimeLimit


class Sample(Value):
    """A value with a field of each unusual kind."""

    a_name: str
    wait: Duration = Duration(seconds=1)
    limit: TimeLimit | None = None
    memory: Size | None = None
    at: Instant | None = None
    words: dict[str, int] = {}


FULL = Sample(
    a_name="x",
    wait=Duration.parse("90s"),
    limit=TimeLimit.parse("1-00:00:00"),
    memory=Size.parse("200G"),
    at=datetime(2026, 1, 1, tzinfo=UTC),
    words={"b": 1, "a": 2},
)


def test_a_value_is_canonical_json_in_camel_case_with_defaults_left_out() -> None:
    assert encode(Sample(a_name="x")) == b'{"aName":"x"}'
    assert encode(FULL) == (
        b'{"aName":"x","wait":"1m30s","limit":"1d","memory":"200G",'
        b'"at":"2026-01-01T00:00:00Z","words":{"a":2,"b":1}}'
    )


def test_a_value_comes_back_as_it_was() -> None:
    assert decode(encode(FULL), Sample) == FULL
    assert decode(encode(FULL).decode(), Sample) == FULL


def test_plain_data_reads_as_the_json_would() -> None:
    assert to_builtins(FULL)["wait"] == "1m30s"
    assert to_builtins(FULL)["memory"] == "200G"


@pytest.mark.parametrize(
    "text",
    [
        b'{"aName":"x","more":1}',
        b'{"a_name":"x"}',
        b"{}",
        b'{"aName":1}',
        b'{"aName":"x","wait":5}',
        b'{"aName":"x","wait":"5"}',
        b'{"aName":"x","memory":"0G"}',
        b'{"aName":"x","memory":7}',
        b'{"aName":"x","at":"2026-01-01T00:00:00"}',
        b'{"aName":"x"} trailing',
        b'{"aName":"\xff"}',
        b"",
    ],
)
def test_what_is_not_exactly_a_value_is_refused(text: bytes) -> None:
    with pytest.raises(Invalid, match="This is no Sample: "):
        decode(text, Sample)


def test_a_refusal_of_a_quantity_says_what_is_allowed() -> None:
    with pytest.raises(Invalid, match="a duration such as 90s"):
        decode(b'{"aName":"x","wait":5}', Sample)


def test_equal_values_have_equal_fingerprints_and_others_have_not() -> None:
    again = decode(encode(FULL), Sample)
    assert fingerprint(FULL) == fingerprint(again)
    assert fingerprint(FULL) != fingerprint(Sample(a_name="x"))
    # For ever: a job's spec is recognised by it.
    assert fingerprint(Sample(a_name="x")).startswith("19f16cb0e8cdcb48")


def test_the_order_in_which_a_mapping_was_written_makes_no_difference() -> None:
    assert fingerprint(Sample(a_name="x", words={"a": 1, "b": 2})) == fingerprint(
        Sample(a_name="x", words={"b": 2, "a": 1})
    )


def test_what_has_no_form_on_the_wire_is_no_value() -> None:
    with pytest.raises(NotImplementedError, match="complex"):
        encode(1j)
    with pytest.raises(NotImplementedError, match="complex"):
        decode(b'"1j"', complex)


def test_values_are_frozen_and_take_names_only() -> None:
    with pytest.raises(AttributeError):
        FULL.a_name = "y"  # type: ignore[misc]
    with pytest.raises(TypeError):
        Sample("x")  # type: ignore[call-arg]
    assert msgspec.structs.replace(FULL, a_name="y").a_name == "y"
