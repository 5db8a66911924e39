"""What a line of a file asks for, and how single cells are read. What is wrong is said in words, as a ValueError."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from counterfoil.catalogue import CodeTerms
from counterfoil.model import BuyerIdentity, Institution
from counterfoil.periods import Calendar
from counterfoil.pricing import AmountOff, Discount, FixedPrice, PercentOff, decimals

MOST_CAP = 1_000_000_000
MOST_PER_BUYER = 1_000_000


@dataclass(frozen=True)
class Wanted:
    """A code that a line asks for. *notes*: what of it is not in so many words in the file."""

    code: str
    terms: CodeTerms
    calendar: Calendar
    counts_with: str | None = None
    buyer_identity: BuyerIdentity = BuyerIdentity.ADDRESS
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Given:
    """
    What is said beside the file.

    Attributes:
        cells: The cells of the columns that the file has not, in our own format.
        amounts: What another's amounts are in: ``minor`` units (500 is 5.00), or ``major`` (5 is 5.00).
    """

    institution: Institution
    cells: Mapping[str, str] = field(default_factory=dict)
    amounts: str | None = None


def cap(text: str) -> int | None:
    """A cap: 0 is nobody, and only the word none is no cap."""
    if not text:
        raise ValueError("the cap is empty: write a number, 0 to let nobody in, or the word none")
    if text.lower() == "none":
        return None
    return whole(text, "cap", most=MOST_CAP)


def per_buyer(text: str) -> int | None:
    """How often a buyer may use it."""
    if not text:
        raise ValueError("the limit per buyer is empty: write a number, or the word none")
    if text.lower() == "none":
        return None
    return whole(text, "limit per buyer", least=1, most=MOST_PER_BUYER)


def whole(text: str, name: str, *, least: int = 0, most: int) -> int:
    """A whole number, without separators and signs."""
    if not re.fullmatch(r"[0-9]{1,15}", text, re.ASCII) or not least <= int(text) <= most:
        raise ValueError(f"the {name} {text!r} is no whole number from {least} to {most:,}")
    return int(text)


def percent(text: str) -> PercentOff:
    """A percentage."""
    plain = text.removesuffix("%").strip()
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]+)?", plain, re.ASCII):
        raise ValueError(f"{text!r} is no percentage: write it like 50 or 12.5")
    return PercentOff(Decimal(plain))


def yes(text: str, name: str) -> bool:
    """Yes or no."""
    if text.lower() in ("yes", "true"):
        return True
    if text.lower() in ("no", "false"):
        return False
    raise ValueError(f"{name} is yes or no, and not {text!r}")


def day(text: str, name: str) -> date | None:
    """A day, or none."""
    if not text:
        return None
    try:
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text, re.ASCII):
            raise ValueError(text)
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{name} {text!r} is no day: write it like 2027-08-31") from None


def moment(text: str, name: str) -> datetime:
    """A moment, as other programs write it: seconds since 1970, or a date and a time, in UTC unless it says more."""
    try:
        if re.fullmatch(r"[0-9]{9,11}", text, re.ASCII):
            return datetime.fromtimestamp(int(text), UTC)
        found = datetime.fromisoformat(text)
        if not 1970 <= found.year < 9000:
            raise ValueError(text)
    except (ValueError, OverflowError):
        raise ValueError(f"{name} {text!r} is no moment: write it like 2027-08-31T22:00:00Z") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def first_day(text: str, name: str, zone: str) -> tuple[date, str | None]:
    """The local day on which something begins, and what is to be said about it."""
    local = moment(text, name).astimezone(ZoneInfo(zone))
    whole_day = (local.hour, local.minute, local.second) == (0, 0, 0)
    return local.date(), None if whole_day else f"good from the start of {local:%Y-%m-%d}: the file says {local:%H:%M}"


def last_day(text: str, name: str, zone: str) -> tuple[date, str | None]:
    """The local day on which something ends, whole, and what is to be said about it."""
    local = (moment(text, name) - timedelta(microseconds=1)).astimezone(ZoneInfo(zone))
    whole_day = (local.hour, local.minute, local.second) == (23, 59, 59)
    told = f"good until the end of {local:%Y-%m-%d}: the file says {local + timedelta(microseconds=1):%H:%M}"
    return local.date(), None if whole_day else told


def amount(text: str, currency: str, given: Given) -> int:
    """Another program's amount, in minor units: in what it is written must be said, for it cannot be seen."""
    if given.amounts is None:
        raise ValueError(f"the file does not say what {text} is in: say that amounts are in minor or in major units")
    places = decimals(currency) if given.amounts == "major" else 0
    if not re.fullmatch(r"[0-9]{1,12}" + (rf"(\.[0-9]{{1,{places}}})?" if places else ""), text, re.ASCII):
        raise ValueError(f"{text!r} is no amount in {given.amounts} units of {currency}")
    return int(Decimal(text).scaleb(places))


def in_words(wanted: Wanted) -> str:
    """What a line comes to."""
    terms = wanted.terms
    counted = {
        Calendar.ACADEMIC_YEAR: "in each academic year",
        Calendar.CALENDAR_YEAR: "in each calendar year",
        Calendar.MONTH: "in each month",
        Calendar.ALL: "in all",
        Calendar.CUSTOM: "in each period that is named for it",
    }[wanted.calendar]
    if wanted.counts_with is not None:
        places = f"counts with {wanted.counts_with}"
    elif terms.cap is None:
        places = "no cap"
    else:
        places = f"{terms.cap:,} {'place' if terms.cap == 1 else 'places'} {counted}"
    times = terms.per_buyer_limit
    buyers = (
        "any number per buyer" if times is None else "once per buyer" if times == 1 else f"{times:,} times per buyer"
    )
    said = [reduction(terms.discount), places, buyers, *(["paused"] if terms.paused else []), *wanted.notes]
    return "; ".join(said)


def reduction(discount: Discount) -> str:
    """What is taken off, in words."""
    if isinstance(discount, PercentOff):
        bound = f", at most {_moneys(discount.at_most)}" if discount.at_most else ""
        return f"{discount.percent.normalize():f} % off{bound}"
    if isinstance(discount, AmountOff):
        return f"{_moneys(discount.amounts())} off"
    if isinstance(discount, FixedPrice):
        return f"{_moneys(discount.amounts())} instead of the price"
    raise AssertionError(discount)


def _moneys(amounts: Mapping[str, int]) -> str:
    return " or ".join(_money(amount, currency) for currency, amount in amounts.items())


def _money(minor: int, currency: str) -> str:
    return f"{Decimal(minor).scaleb(-decimals(currency)):f} {currency.upper()}"
