"""Times: written in one form, read by one grammar, and nothing raises."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cafleet import clock

NOW = datetime(2026, 5, 5, 5, 42, 11, 123456, tzinfo=UTC)


def two_digits(most: int) -> st.SearchStrategy[str]:
    return st.integers(0, most).map(lambda number: f"{number:02}")


@st.composite
def times(draw: st.DrawFn) -> tuple[str, datetime | None]:
    """A text of the grammar, and the moment that it names, by arithmetic of our own."""
    year, month = draw(st.integers(0, 9999)), draw(st.integers(0, 14))
    day, hour = draw(st.integers(0, 32)), draw(st.integers(0, 25))
    minute, second = draw(st.integers(0, 61)), draw(st.integers(0, 62))
    fraction = draw(st.text("0123456789", max_size=12))
    sign, offset_hour, offset_minute = draw(
        st.tuples(st.sampled_from("+-"), st.integers(0, 25), st.integers(0, 61))
    )
    zone = draw(st.sampled_from(["Z", "z", f"{sign}{offset_hour:02}:{offset_minute:02}"]))
    text = (
        f"{year:04}-{month:02}-{day:02}{draw(st.sampled_from('Tt '))}"
        f"{hour:02}:{minute:02}:{second:02}{'.' + fraction if fraction else ''}{zone}"
    )
    offset_is_real = zone in "Zz" or (offset_hour <= 23 and offset_minute <= 59)
    if hour > 23 or minute > 59 or second > 60 or not offset_is_real:
        return text, None
    offset = 0
    if zone not in "Zz":
        offset = (offset_hour * 3600 + offset_minute * 60) * (-1 if sign == "-" else 1)
    try:
        midnight = datetime(year, month, day, tzinfo=UTC)
        micros = int(fraction[:6].ljust(6, "0")) if fraction else 0
        elapsed = hour * 3600 + minute * 60 + second - offset
        return text, midnight + timedelta(seconds=elapsed, microseconds=micros)
    except (ValueError, OverflowError):
        return text, None


@given(times())
def test_every_time_of_the_grammar_is_read(time: tuple[str, datetime | None]) -> None:
    text, moment = time
    assert clock.read(text) == moment


@given(
    st.text("0123456789-:.+TtZz \n１", max_size=40) | st.text(max_size=40),
)
@example("")
def test_nothing_raises(text: str) -> None:
    moment = clock.read(text)
    assert moment is None or moment.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "2026-05-05T05:42:11",
        "2026-05-05T05:42:11+0000",
        "2026-05-05T05:42:11+00",
        "2026-05-05T05:42:11.Z",
        "2026-05-05T05:42:11,5Z",
        "2026-05-05T05:42Z",
        "2026-05-05",
        "2026-05-05  05:42:11Z",
        "2026-05-05\t05:42:11Z",
        "2026-05-05T24:00:00Z",
        "2026-05-05T05:42:61Z",
        "2026-05-05T05:42:11+24:00",
        "2026-05-05T05:42:11+00:60",
        "2026-02-29T05:42:11Z",
        "0000-01-01T00:00:00Z",
        "12026-05-05T05:42:11Z",
        "2026-5-5T05:42:11Z",
        " 2026-05-05T05:42:11Z",
        "2026-05-05T05:42:11Z\n",
        "2026-05-05T05:42:11Z[UTC]",
        "２０２６-05-05T05:42:11Z",
        "2026-W19-2T05:42:11Z",
        "20260505T054211Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:60Z",
        "garbage",
        "",
        "9" * 5000,
    ],
)
def test_what_is_no_time(text: str) -> None:
    assert clock.read(text) is None
    assert clock.seconds_since(text, NOW) is None


@given(
    st.datetimes(
        min_value=datetime(1, 1, 2),  # noqa: DTZ001 - Hypothesis adds the zone itself
        max_value=datetime(9999, 12, 30),  # noqa: DTZ001
        timezones=st.integers(-1439, 1439).map(lambda m: timezone(timedelta(minutes=m))),
    )
)
def test_what_is_written_is_read_and_sorts_as_time(moment: datetime) -> None:
    written = clock.stamp(moment)
    assert len(written) == len("2026-05-05T05:42:11.123456+00:00")
    assert written.endswith("+00:00")
    assert clock.read(written) == moment
    assert (written < clock.stamp(NOW)) == (moment < NOW)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-05-05T05:42:10.123457Z", 0),
        ("2026-05-05T05:42:10.123456Z", 1),
        ("2026-05-05T05:42:12.123455Z", 0),
        ("2026-05-05T05:42:13.123456Z", -2),
        ("2026-05-05T05:42:10.9999999999Z", 0),
        ("2026-05-05T05:41:60Z", 11),
        ("9999-12-31T23:59:60+01:00", -251624337468),
    ],
)
def test_elapsed_seconds_are_truncated_toward_zero(text: str, seconds: int) -> None:
    assert clock.seconds_since(text, NOW) == seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-02T03:04:05.678901+00:00", True),
        ("2026-01-02T03:04:05.678901234+00:00", True),
        ("2026-01-02T03:04:05.678901234Z", True),
        ("2026-01-02T03:04:05.6789012345Z", False),
        ("2026-01-02T03:04:05.67890+00:00", False),
        ("2026-01-02T03:04:05+00:00", False),
        ("2026-01-02T03:04:05.678901+01:00", False),
        ("2026-01-02 03:04:05.678901+00:00", False),
        ("2026-13-02T03:04:05.678901+00:00", False),
        ("then", False),
    ],
)
def test_times_of_adopted_rows_stand_in_the_order_of_time(text: str, expected: bool) -> None:
    assert clock.is_sorted(text) is expected
