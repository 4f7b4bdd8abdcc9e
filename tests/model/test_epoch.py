"""Names of jobs, submissions and executions."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from dispatch.model.epoch import Epoch, is_ulid, object_name, ulid

COUNTS = st.integers(0, 999_999)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_number_of_an_epoch_orders_executions_as_they_follow(
    n: int, r: int, m: int, q: int
) -> None:
    assert (Epoch(n, r) < Epoch(m, q)) is (Epoch(n, r).number < Epoch(m, q).number)


@given(COUNTS, COUNTS)
def test_an_epoch_and_its_number_are_the_same(n: int, r: int) -> None:
    assert Epoch.of(Epoch(n, r).number) == Epoch(n, r)


def test_an_epoch_is_n_times_a_million_and_r() -> None:
    assert Epoch(3, 7).number == 3_000_007
    assert str(Epoch(3, 7)) == "3.7"
    assert Epoch.of(3_000_007).restarts == 7


def test_a_ulid_is_time_and_chance_in_crockfords_alphabet() -> None:
    assert ulid(0, bytes(10)) == "0" * 26
    assert ulid(2**48 - 1, b"\xff" * 10) == "7" + "Z" * 25
    assert ulid(1_469_918_176_385, bytes(10)) == "01ARYZ6S410000000000000000"
    assert ulid(0, bytes(9) + b"\x21") == "0" * 24 + "11"


@given(st.integers(0, 2**48 - 1), st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
def test_ulids_sort_by_time(first: int, second: int, chance: bytes) -> None:
    if first < second:
        assert ulid(first, b"\xff" * 10) < ulid(second, chance)
    assert is_ulid(ulid(first, chance))


@pytest.mark.parametrize(
    "text",
    ["", "0" * 25, "0" * 27, "8" + "0" * 25, "o" + "0" * 25, "0" * 25 + "I", "0" * 25 + "\n"],
)
def test_what_is_no_whole_ulid_is_none(text: str) -> None:
    assert not is_ulid(text)


def test_the_objects_of_a_job_have_one_constant_name() -> None:
    assert object_name("01ARYZ6S410000000000000000") == "dj-01ARYZ6S410000000000000000"
