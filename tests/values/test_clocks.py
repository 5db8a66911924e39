"""The chain of clocks: place one of the five that keep the two expiries in order."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.clocks import Clocks, ClocksOutOfOrder, format_duration, parse_duration

MINUTE = timedelta(minutes=1)


def test_the_defaults_are_in_order() -> None:
    clocks = Clocks()
    assert (clocks.session_ttl, clocks.reservation_ttl, clocks.margin) == (31 * MINUTE, 40 * MINUTE, 9 * MINUTE)
    assert all(link.holds for link in clocks.chain())
    assert clocks.call_budget == timedelta(seconds=20.5)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"session_ttl": 30 * MINUTE}, r"^COUNTERFOIL_SESSION_TTL=30m, .*30m 50.5s <= 30m does not hold; raise"),
        (
            {"session_ttl": 40 * MINUTE},
            r"^COUNTERFOIL_RESERVATION_TTL=40m, COUNTERFOIL_SESSION_TTL=40m: .*41m <= 40m does not hold; raise",
        ),
        ({"reservation_ttl": timedelta(minutes=31, seconds=59)}, r"32m <= 31m 59s does not hold"),
        ({"stripe_attempts": 5}, r"does not hold; raise COUNTERFOIL_SESSION_TTL, or lower COUNTERFOIL_STRIPE_TIMEOUT"),
        ({"stripe_timeout": MINUTE}, r"COUNTERFOIL_STRIPE_TIMEOUT=1m, .* does not hold"),
        ({"session_ttl": timedelta(hours=24), "reservation_ttl": timedelta(hours=25)}, r"24h|1d"),
        ({"pending_ttl": 39 * MINUTE}, r"COUNTERFOIL_PENDING_TTL=39m"),
        ({"stripe_attempts": 0}, r"COUNTERFOIL_STRIPE_ATTEMPTS=0"),
        ({"lock_timeout": timedelta()}, r"COUNTERFOIL_LOCK_TIMEOUT=0s"),
        ({"session_ttl": timedelta(minutes=31, milliseconds=1)}, r"whole seconds"),
    ],
)
def test_a_chain_out_of_order_does_not_exist(settings: dict[str, timedelta], said: str) -> None:
    """The message names the variable, its value, the inequality with both numbers, and the mend."""
    with pytest.raises(ClocksOutOfOrder, match=said):
        Clocks(**settings)  # type: ignore[arg-type]


def test_the_least_that_is_in_order() -> None:
    """One second below each bound is refused, the bound itself is not."""
    assert Clocks(reservation_ttl=32 * MINUTE).margin == MINUTE
    assert Clocks(session_ttl=timedelta(minutes=30, seconds=51)).session_ttl
    with pytest.raises(ClocksOutOfOrder):
        Clocks(session_ttl=timedelta(minutes=30, seconds=50))


def test_another_floor_is_for_another_server() -> None:
    low = Clocks(stripe_floor=timedelta(seconds=1), session_ttl=MINUTE, reservation_ttl=3 * MINUTE)
    low.check_floor(api_base_is_stripe=False)
    with pytest.raises(ClocksOutOfOrder, match="COUNTERFOIL_STRIPE_FLOOR=1s"):
        low.check_floor(api_base_is_stripe=True)


@given(
    session=st.integers(1, 100_000),
    reservation=st.integers(1, 100_000),
    floor=st.integers(1, 5_000),
    timeout=st.integers(1, 60),
    attempts=st.integers(1, 5),
    skew=st.integers(0, 120),
    hold=st.datetimes(datetime(2024, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)),
)
def test_whatever_exists_keeps_the_order(
    session: int, reservation: int, floor: int, timeout: int, attempts: int, skew: int, hold: datetime
) -> None:
    """If the value exists: the session dies at least a minute before its hold, and never below the floor."""
    seconds = timedelta(seconds=1)
    try:
        clocks = Clocks(
            session_ttl=session * seconds,
            reservation_ttl=reservation * seconds,
            pending_ttl=timedelta(days=21),
            stripe_floor=floor * seconds,
            stripe_timeout=timeout * seconds,
            stripe_attempts=attempts,
            allowed_skew=skew * seconds,
        )
    except ClocksOutOfOrder:
        return
    dies = clocks.session_expiry(hold)
    assert dies.microsecond == 0
    assert dies <= hold - MINUTE
    reserved = hold - clocks.reservation_ttl
    latest_arrival = reserved + clocks.call_budget + clocks.allowed_skew
    assert dies - latest_arrival > clocks.stripe_floor - seconds


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("40m", 2400), ("2h", 7200), ("21d", 21 * 86400), ("1860", 1860), ("0", 0)]
)
def test_durations_are_whole_numbers_with_a_unit(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "-5m", "1.5h", "5 m", "m", "5w", "５m", "1h30m"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        parse_duration(text)


@given(st.integers(0, 10**8))
def test_a_duration_is_written_as_it_is(seconds: int) -> None:
    written = format_duration(timedelta(seconds=seconds))
    assert sum((parse_duration(part) for part in written.split()), timedelta()) == timedelta(seconds=seconds)
