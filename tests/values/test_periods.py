"""Calendars: which period a moment lies in."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from counterfoil.periods import (
    Calendar,
    check_key,
    check_name,
    check_year_start,
    check_zone,
    first_instant,
    is_key,
    period_days,
    period_key,
    window,
)

#: Those whose periods follow from rules: the named ones are in the database.
CUT_BY_RULES = [one for one in Calendar if one is not Calendar.CUSTOM]
ZONES = ("Europe/London", "Pacific/Auckland", "America/Los_Angeles", "Asia/Kathmandu", "Africa/Cairo", "UTC")


@pytest.mark.parametrize("zone", ["Europe/London", "Pacific/Auckland", "America/Los_Angeles"])
@pytest.mark.parametrize(
    ("local", "key"),
    [
        (datetime(2027, 8, 31), "2026-27"),
        (datetime(2027, 8, 31, 23, 59, 59), "2026-27"),
        (datetime(2027, 9, 1), "2027-28"),
        (datetime(2099, 10, 1), "2099-00"),
        (datetime(2100, 8, 31), "2099-00"),
    ],
)
def test_an_academic_year_starts_at_local_midnight(zone: str, local: datetime, key: str) -> None:
    """2027-08-31 is in 2026-27 and 2027-09-01 in 2027-28, by the institution's own clock."""
    assert period_key(Calendar.ACADEMIC_YEAR, local.replace(tzinfo=ZoneInfo(zone)), zone, "09-01") == key


def test_one_instant_lies_in_two_years_at_two_schools() -> None:
    """At noon UTC on 31 August it is September in Auckland already."""
    noon = datetime(2027, 8, 31, 12, 30, tzinfo=UTC)
    assert period_key(Calendar.ACADEMIC_YEAR, noon, "Pacific/Auckland", "09-01") == "2027-28"
    assert period_key(Calendar.ACADEMIC_YEAR, noon, "America/Los_Angeles", "09-01") == "2026-27"


@pytest.mark.parametrize(
    ("calendar", "key"),
    [(Calendar.CALENDAR_YEAR, "2027"), (Calendar.MONTH, "2027-03"), (Calendar.ALL, "all")],
)
def test_other_calendars_the_same_way(calendar: Calendar, key: str) -> None:
    assert period_key(calendar, datetime(2027, 3, 9, tzinfo=UTC), "UTC", "09-01") == key


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        period_key(Calendar.ALL, datetime(2027, 1, 1), "UTC", "09-01")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    calendar=st.sampled_from(CUT_BY_RULES),
    moment=st.datetimes(datetime(2020, 1, 1), datetime(2036, 12, 31), timezones=st.just(UTC)),
    zone=st.sampled_from(ZONES),
    year_start=st.sampled_from(["01-01", "02-01", "08-15", "09-01", "12-31"]),
)
@example(Calendar.ACADEMIC_YEAR, datetime(2027, 8, 31, 23, 0, tzinfo=UTC), "Europe/London", "09-01")
def test_the_database_says_the_same(
    connection: psycopg.Connection, calendar: Calendar, moment: datetime, zone: str, year_start: str
) -> None:
    """`period_key.sql` and `periods.py` agree about every moment."""
    row = connection.execute(
        "SELECT counterfoil.period_key(%s, %s, %s, %s)", (str(calendar), year_start, zone, moment)
    ).fetchone()
    assert row == (period_key(calendar, moment, zone, year_start),)


@given(
    calendar=st.sampled_from([one for one in CUT_BY_RULES if one is not Calendar.ALL]),
    moment=st.datetimes(datetime(1990, 1, 1), datetime(2098, 1, 1), timezones=st.just(UTC)),
    year_start=st.sampled_from(["01-01", "02-28", "09-01", "12-31"]),
)
def test_a_period_holds_the_days_that_lie_in_it(calendar: Calendar, moment: datetime, year_start: str) -> None:
    """Its first and last day have its key, the days beside them have not."""
    key = period_key(calendar, moment, "UTC", year_start)
    days = period_days(calendar, key, year_start)
    assert days is not None
    first, last = days
    assert first <= moment.date() <= last

    def key_of(day: date) -> str:
        return period_key(calendar, datetime(day.year, day.month, day.day, tzinfo=UTC), "UTC", year_start)

    assert key_of(first) == key_of(last) == key
    assert key not in (key_of(first - timedelta(days=1)), key_of(last + timedelta(days=1)))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    calendar=st.sampled_from(CUT_BY_RULES),
    key=st.sampled_from(["all", "", "0000", "9999", "9999-00", "9999-12", "2026-13", "2000-01", "2011-12", "Term"])
    | st.from_regex(r"[0-9]{4}(-[0-9]{2})?", fullmatch=True),
    year_start=st.sampled_from(["01-01", "02-28", "03-01", "09-01", "12-31"]),
)
def test_the_database_gives_a_period_the_same_days(
    connection: psycopg.Connection, calendar: Calendar, key: str, year_start: str
) -> None:
    """`period_days.sql` and `periods.py` agree about every key, and about what is none."""
    row = connection.execute(
        "SELECT starts_on, ends_on FROM counterfoil.period_days(0, %s, %s, %s)", (str(calendar), year_start, key)
    ).fetchone()
    if not is_key(calendar, key):
        assert row is None
    else:
        assert row == (period_days(calendar, key, year_start) or (None, None))


@pytest.mark.parametrize(
    "good", ["Spring 2027", "T1", "1st term", "Été", "Sommersemester-26", "x" * 32, "2026-27 b", "春", "Term 2027"]
)
def test_what_a_period_may_be_called(good: str) -> None:
    assert check_name(f" {good} ") == good


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("", "1 to 32"),
        ("   ", "1 to 32"),
        ("x" * 33, "1 to 32"),
        ("2026-27", "another calendar"),
        ("2026 27", "another calendar"),
        ("2027", "another calendar"),
        ("2027-03", "another calendar"),
        ("ALL", "another calendar"),
        ("２０２７", "another calendar"),
        ("Spring/2027", "letters, digits"),
        ("Spring  2027", "letters, digits"),
        ("-Spring", "letters, digits"),
        ("Spring_1", "letters, digits"),
        ("Spring\n2", "letters, digits"),
        ("Spring\0", "letters, digits"),
        ("<b>", "letters, digits"),
        ("e\u0301te", "letters, digits"),
    ],
)
def test_what_a_period_may_not_be_called(bad: str, said: str) -> None:
    """A name is short, plain, and taken for no key of another calendar."""
    with pytest.raises(ValueError, match=said):
        check_name(bad)


def test_all_has_no_end() -> None:
    assert period_days(Calendar.ALL, "all", "09-01") is None


@pytest.mark.parametrize(
    ("calendar", "key"),
    [
        (Calendar.ACADEMIC_YEAR, "2026-28"),
        (Calendar.ACADEMIC_YEAR, "2026"),
        (Calendar.ACADEMIC_YEAR, "2026-27 "),
        (Calendar.ACADEMIC_YEAR, "٢٠٢٦-٢٧"),
        (Calendar.CALENDAR_YEAR, "2026-27"),
        (Calendar.CALENDAR_YEAR, "0000"),
        (Calendar.MONTH, "2026-13"),
        (Calendar.MONTH, "2026-00"),
        (Calendar.ALL, "ALL"),
        (Calendar.ALL, ""),
    ],
)
def test_a_key_of_another_shape_is_refused(calendar: Calendar, key: str) -> None:
    with pytest.raises(ValueError, match="write it like"):
        check_key(calendar, key)


@pytest.mark.parametrize("good", ["01-01", "02-28", "09-01", "12-31"])
def test_a_year_starts_on_a_day_every_year_has(good: str) -> None:
    assert check_year_start(good) == good


@pytest.mark.parametrize("bad", ["02-29", "02-30", "13-01", "00-10", "09-31", "9-1", "09-01 ", "", "september"])
def test_other_days_start_no_year(bad: str) -> None:
    with pytest.raises(ValueError, match=r"write month and day|not in every year"):
        check_year_start(bad)


@pytest.mark.parametrize("bad", ["", "London", "europe/london", "../etc/passwd", "/etc/localtime", "Europe/London\0"])
def test_only_names_of_the_zone_database_are_zones(bad: str) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        check_zone(bad)


@pytest.mark.parametrize(
    ("zone", "day", "hour"),
    [
        ("Europe/London", date(2024, 3, 31), 0),
        ("America/Sao_Paulo", date(2018, 11, 4), 1),  # midnight was skipped
        ("Africa/Cairo", date(2024, 4, 26), 1),  # midnight was skipped
        ("America/Havana", date(2023, 11, 5), 0),  # midnight came twice
    ],
)
def test_a_day_begins_where_its_clocks_say(zone: str, day: date, hour: int) -> None:
    begins = first_instant(day, zone)
    local = begins.astimezone(ZoneInfo(zone))
    before = (begins - timedelta(seconds=1)).astimezone(ZoneInfo(zone))
    assert (local.date(), local.hour) == (day, hour)
    assert before.date() == day - timedelta(days=1)


def test_a_window_has_its_last_day_whole() -> None:
    """From local midnight to local midnight, across a change of the clocks."""
    opens, closes = window(date(2024, 3, 31), date(2024, 3, 31), "Europe/London")
    assert opens is not None
    assert closes is not None
    assert closes - opens == timedelta(hours=23)
    assert window(None, None, "UTC") == (None, None)
