"""Periods with names, in the database: the law of their days, and who waits for whom."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.places import Verbs, code, school
from tests.support.races import beside, wait_until_blocked

from counterfoil import calendars, catalogue, errors
from counterfoil.clocks import Clocks
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Code, Shop
from counterfoil.periods import Calendar, window

#: Long enough for a race to be arranged.
PATIENT = Shop(clocks=Clocks(lock_timeout=timedelta(seconds=30)), livemode=False)
FIRST = date(2027, 3, 20)
ZONES = ("Europe/London", "Pacific/Auckland", "America/Los_Angeles", "Asia/Kathmandu", "Africa/Cairo", "UTC")

SPANS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 6)), max_size=5)


def said(connection: psycopg.Connection[Any], moment: datetime) -> tuple[Any, ...]:
    """What a buyer is told at a moment: outcome, period, days."""
    row = connection.execute(
        "SELECT outcome, period, starts_on, ends_on FROM counterfoil.consider('n0rth', NULL, NULL, 'x', %s)", (moment,)
    ).fetchone()
    assert row
    return tuple(row)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    spans=SPANS, zone=st.sampled_from(ZONES), minutes=st.integers(-3 * 1440, 30 * 1440), away=st.sampled_from(["", "x"])
)
# Before all of them, on a last day, between two, after the last.
@example([(2, 3), (8, 1)], "UTC", 60, "")
@example([(2, 3), (8, 1)], "UTC", 6 * 1440 - 1, "")
@example([(2, 3), (8, 1)], "UTC", 6 * 1440, "")
@example([(2, 3), (8, 1)], "UTC", 10 * 1440, "")
def test_the_period_is_the_one_that_the_local_day_lies_in(
    connection: psycopg.Connection[Any], shop: Shop, spans: list[tuple[int, int]], zone: str, minutes: int, away: str
) -> None:
    """By an independent reckoning: within one it is that; before another, that is told; after all, the last."""
    for table in ("named_period", "code", "institution"):
        connection.execute(f"DELETE FROM counterfoil.{table}".encode())
    host = Psycopg(connection)
    known = code(host, of=school(host, zone), calendar=Calendar.CUSTOM)
    kept: dict[str, tuple[date, date]] = {}
    for number, (begins, length) in enumerate(spans):
        name, days = f"T{number}{away}", (FIRST + timedelta(begins), FIRST + timedelta(begins + length))
        overlaps = any(days[0] <= last and first <= days[1] for first, last in kept.values())
        try:
            host.run(calendars.set_period(code=known, name=name, starts_on=days[0], ends_on=days[1]))
        except errors.PeriodOverlaps:
            assert overlaps
        else:
            assert not overlaps
            kept[name] = days
    moment = datetime(2027, 3, 20, tzinfo=UTC) + timedelta(minutes=minutes)
    day = moment.astimezone(ZoneInfo(zone)).date()
    inside = [(name, *days) for name, days in kept.items() if days[0] <= day <= days[1]]
    coming = sorted((days[0], days[1]) for days in kept.values() if days[0] > day)
    gone = sorted((days[0], days[1]) for days in kept.values() if days[1] < day)
    outcome, period, starts_on, ends_on = said(connection, moment)
    if inside:
        assert (outcome, period) == (None, inside[0][0])
    elif coming:
        assert (outcome, starts_on, ends_on) == ("not_open", *coming[0])
    elif gone:
        assert (outcome, starts_on, ends_on) == ("ended", *gone[-1])
    else:
        assert (outcome, starts_on, ends_on) == ("not_open", None, None)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    zone=st.sampled_from(ZONES),
    starts_on=st.dates(date(2020, 1, 1), date(2026, 1, 1)),
    length=st.integers(0, 400),
    off=st.sampled_from([-86400, -3601, -1, 0, 1, 3601]),
)
def test_a_window_is_whole_local_days(
    connection: psycopg.Connection[Any], zone: str, starts_on: date, length: int, off: int
) -> None:
    """Open from the first instant of its first day to the last of its last day, whatever the clocks do between."""
    for table in ("code", "institution"):
        connection.execute(f"DELETE FROM counterfoil.{table}".encode())
    host = Psycopg(connection)
    ends_on = starts_on + timedelta(length)
    code(host, of=school(host, zone), starts_on=starts_on, ends_on=ends_on)
    opens, closes = window(starts_on, ends_on, zone)
    assert opens
    assert closes
    for edge in (opens, closes):
        moment = edge + timedelta(seconds=off)
        day = moment.astimezone(ZoneInfo(zone)).date()
        expected = "not_open" if moment < opens else "ended" if moment >= closes else None
        assert expected == ("not_open" if day < starts_on else "ended" if day > ends_on else None)
        assert said(connection, moment)[0] == expected


class TestRaces:
    @pytest.fixture
    def term(self, host: Psycopg) -> Code:
        """A code whose one period is now, and of which nobody wanted a place."""
        known = code(host, calendar=Calendar.CUSTOM)
        today = date.today()  # noqa: DTZ011 (wide enough for any zone)
        host.run(
            calendars.set_period(
                code=known, name="Term", starts_on=today - timedelta(400), ends_on=today + timedelta(800)
            )
        )
        return known

    def test_removed_while_the_first_buyer_reserves(self, term: Code, database: str) -> None:
        """Whoever removes it waits for the buyer, and sees the allocation that the buyer made."""
        with (
            psycopg.connect(database) as buyer,
            psycopg.connect(database, autocommit=True) as seller,
            psycopg.connect(database, autocommit=True) as watcher,
        ):
            row = buyer.execute(
                "SELECT outcome FROM counterfoil.reserve(gen_random_uuid(), 'n0rth', NULL, NULL, 'a', 'a', '40 min', "
                "'30 s', NULL)"
            ).fetchone()
            assert row == ("held",)
            with beside(lambda: Psycopg(seller).run(calendars.remove_period(code=term, name="Term"))) as answer:
                wait_until_blocked(watcher, seller.info.backend_pid, buyer.info.backend_pid)
                buyer.commit()
                with pytest.raises(errors.PeriodInUse):
                    answer.result(30)
            assert [one.name for one in Psycopg(seller).run(calendars.named_periods(code=term))] == ["Term"]

    def test_reserved_while_it_is_removed(self, term: Code, host: Psycopg, database: str) -> None:
        """The buyer waits, is told to ask again, and then that it is not open: no allocation is of nothing."""
        with (
            psycopg.connect(database) as seller,
            psycopg.connect(database, autocommit=True) as buyer,
            psycopg.connect(database, autocommit=True) as watcher,
        ):
            seller.execute("SELECT counterfoil.remove_period(%s, 'Term')", (term.id,))
            do = Verbs(Psycopg(buyer), PATIENT)
            with beside(lambda: do.reserve("a")) as answer:
                wait_until_blocked(watcher, buyer.info.backend_pid, seller.info.backend_pid)
                seller.commit()
                with pytest.raises(errors.Busy):
                    answer.result(30)
            with pytest.raises(errors.CodeNotOpen):
                do.reserve("a")
        assert host._source.execute("SELECT count(*) FROM counterfoil.allocation").fetchone() == (0,)


def test_an_allocation_is_of_a_period_of_its_code(host: Psycopg) -> None:
    """Whatever was looked up before the calendar became another one."""
    known = code(host)
    for other in ("2027", "Term", "2027-03", "all", ""):
        with pytest.raises(psycopg.errors.LockNotAvailable):
            host._source.execute("SELECT counterfoil.allocation_lock(%s, %s, '1 s')", (known.id, other))
    assert host._source.execute("SELECT count(*) FROM counterfoil.allocation").fetchone() == (0,)


def test_days_of_two_periods_do_not_overlap_in_the_table_either(host: Psycopg) -> None:
    """Whoever writes to it past us is refused, too."""
    one = code(host, calendar=Calendar.CUSTOM)
    other = code(host, "SOUTH", of=host.run(catalogue.institution("northfold")), calendar=Calendar.CUSTOM)
    insert = (
        "INSERT INTO counterfoil.named_period (code_id, name, folded, starts_on, ends_on) VALUES (%s, %s, %s, %s, %s)"
    )
    host._source.execute(insert, (one.id, "A", "a", date(2027, 1, 1), date(2027, 1, 5)))
    host._source.execute(insert, (one.id, "B", "b", date(2027, 1, 6), date(2027, 1, 9)))
    host._source.execute(insert, (other.id, "A", "a", date(2027, 1, 1), date(2027, 1, 5)))
    with pytest.raises(psycopg.errors.ExclusionViolation):
        host._source.execute(insert, (one.id, "C", "c", date(2027, 1, 5), date(2027, 1, 5)))
