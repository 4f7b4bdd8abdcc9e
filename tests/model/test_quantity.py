"""Durations, time limits and sizes: text on the wire, exact integers inside."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from dispatch.model.quantity import Duration, Size, TimeLimit

LONGEST = 864_000_000_000


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("0s", 0),
        ("1ms", 1),
        ("90s", 90_000),
        ("30m", 1_800_000),
        ("24h", 86_400_000),
        ("7d", 604_800_000),
        ("1h30m", 5_400_000),
        ("1d2h3m4s5ms", 93_784_005),
        ("30m1h", 5_400_000),
        ("10000d", LONGEST),
    ],
)
def test_a_duration_is_read_from_its_text(text: str, milliseconds: int) -> None:
    assert Duration.parse(text).ms == milliseconds


@pytest.mark.parametrize(
    "text", ["", "90", "s", "-1s", "1.5h", "1 h", " 1h", "1h ", "1H", "1w", "1h30", "1:00:00"]
)
def test_what_is_no_duration_is_refused_and_the_refusal_says_what_is_allowed(text: str) -> None:
    with pytest.raises(ValueError, match="a duration such as 90s, 30m, 1h30m or 7d"):
        Duration.parse(text)


@pytest.mark.parametrize("milliseconds", [-1, LONGEST + 1])
def test_a_duration_has_bounds(milliseconds: int) -> None:
    with pytest.raises(ValueError, match="between 0s and 10000d"):
        Duration.of_ms(milliseconds)


@given(st.integers(0, LONGEST))
def test_a_duration_and_its_text_are_the_same(milliseconds: int) -> None:
    duration = Duration.of_ms(milliseconds)
    assert duration.ms == milliseconds
    assert Duration.parse(str(duration)) == duration


@pytest.mark.parametrize(
    ("text", "shortest"),
    [("90s", "1m30s"), ("60m", "1h"), ("24h", "1d"), ("0m", "0s"), ("1500ms", "1s500ms")],
)
def test_the_text_of_a_duration_is_the_shortest(text: str, shortest: str) -> None:
    assert str(Duration.parse(text)) == shortest
    assert repr(Duration.parse(text)) == f"Duration('{shortest}')"


def test_a_duration_adds_to_a_moment() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert moment + Duration.parse("90s") == moment + timedelta(seconds=90)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1-00:00:00", "1d"),
        ("12:30:00", "12h30m"),
        ("0:00:05", "5s"),
        ("100:0:0", "100h"),
        ("2-3:04:05", "2d3h4m5s"),
        ("24h", "24h"),
    ],
)
def test_a_time_limit_may_be_written_as_slurm_writes_it(text: str, same: str) -> None:
    limit = TimeLimit.parse(text)
    assert isinstance(limit, TimeLimit)
    assert limit == Duration.parse(same)


@pytest.mark.parametrize("text", ["1-00", "1-00:00", "30:00", "12:60:00", "12:00:60", "x", "1-"])
def test_what_slurm_reads_in_another_way_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="or Slurm's 1-00:00:00"):
        TimeLimit.parse(text)


def test_a_time_limit_has_the_bounds_of_a_duration() -> None:
    with pytest.raises(ValueError, match="between 0s and 10000d"):
        TimeLimit.parse("10001-00:00:00")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1K", 1_000),
        ("512Mi", 512 << 20),
        ("200G", 200 * 10**9),
        ("1T", 10**12),
        ("1Ki", 1 << 10),
        ("3Gi", 3 << 30),
        ("2Ti", 2 << 40),
        ("5M", 5 * 10**6),
    ],
)
def test_a_size_is_read_from_its_text(text: str, size: int) -> None:
    assert Size.parse(text) == size
    assert str(Size(size)) == text
    assert repr(Size(size)) == f"Size('{text}')"


@pytest.mark.parametrize("text", ["", "1", "0G", "1g", "1GB", "1.5G", "-1G", "G", "1 G", "1Pi"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a size such as 200G"):
        Size.parse(text)


@given(st.integers(1, 10**15))
def test_the_text_of_a_size_is_never_less_and_at_most_a_kibibyte_more(size: int) -> None:
    again = Size.parse(str(Size(size)))
    assert size <= again < size + 1024


def test_the_text_of_a_size_takes_the_largest_unit_that_divides_it() -> None:
    assert str(Size(1 << 20)) == "1Mi"
    assert str(Size(10**6)) == "1M"
    assert str(Size(1_500_000)) == "1500K"
    assert str(Size(1_001)) == "1Ki"  # no unit divides it: rounded up
