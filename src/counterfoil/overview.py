"""
What the seller looks at: the numbers of every institution, a code in full, and what is on its way in an allocation.

Each page asks one or two of these. None counts completed rows: what is used comes from the gates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from counterfoil import errors, reading
from counterfoil.codes import fold
from counterfoil.model import Code, Redemption, Usage
from counterfoil.periods import Calendar, next_key
from counterfoil.statement import Row, Sql, Statement, document


@dataclass(frozen=True)
class Sums:
    """
    The numbers of several allocations together.

    Attributes:
        cap: Of those that have a cap; *uncapped* says how many have none.
        free: Places that can be reserved now, of those that have a cap.
        over: Paid or paying places above the caps. One allocation's are not made up for by the free ones of another.
    """

    codes: int
    uncapped: int
    cap: int
    completed: int
    pending: int
    held: int
    free: int
    over: int


@dataclass(frozen=True)
class InstitutionNumbers:
    """An institution, and its sums of the periods that are now."""

    slug: str
    name: str
    time_zone: str
    year_start: str
    sums: Sums


@dataclass(frozen=True)
class Overview:
    """One page of institutions; *total* and *number* are of all that fit, not only of the page."""

    total: Sums
    number: int
    institutions: tuple[InstitutionNumbers, ...]


@dataclass(frozen=True)
class CodeInFull:
    """
    A code, and where it counts.

    Attributes:
        counts_with: The id of the code whose allocations it counts against: its own, or that of *pool*.
        periods: That have an allocation, newest first.
        following: The one after the one that is now, if it can be named.
        beside: Other codes in force that count against the same allocations.
    """

    code: Code
    counts_with: int
    pool: str
    periods: tuple[str, ...]
    following: str | None
    beside: tuple[str, ...]


@dataclass(frozen=True)
class InUse:
    """What is on its way in an allocation at one moment: live holds, delayed payments, and how many holds lapsed."""

    moment: datetime
    holds: tuple[Redemption, ...]
    lapsed: int
    payments: tuple[Redemption, ...]


def overview(*, search: str | None = None, fullest: bool = False, skip: int = 0, most: int = 25) -> Statement[Overview]:
    """
    Institutions with their sums of the periods that are now, by name or the fullest first.

    *search* is a part of the name, the slug, or a code of the institution.
    """

    def read(rows: Sequence[Row]) -> Overview:
        total = document(rows[0]["total"])
        found = [document(one) for one in rows[0]["institutions"]]
        return Overview(
            total=_sums(total),
            number=total["institutions"],
            institutions=tuple(
                InstitutionNumbers(one["slug"], one["name"], one["time_zone"], one["year_start"], _sums(one))
                for one in found
            ),
        )

    return Statement(
        Sql.named("overview"),
        {
            "search": search,
            "folded": (fold(search) if search else None) or None,
            "fullest": fullest,
            "skip": skip,
            "most": most,
        },
        read,
    )


def codes_with_numbers(
    *, institution: int | None = None, search: str | None = None, after: int | None = None, most: int = 25
) -> Statement[list[tuple[Code, Usage]]]:
    """Codes, newest first, each with the numbers of the period that is now. *search* is a part of a code or a name."""
    parameters: dict[str, Any] = {
        "institution": institution,
        "search": search,
        # What no code reads like finds no code, and perhaps an institution.
        "folded": None if search is None else fold(search) or "\x01",
        "after": after,
        "most": most,
    }
    return Statement(
        Sql.named("code_numbers").given(parameters),
        parameters,
        lambda rows: [(reading.code(row["document"]), reading.usage(row)) for row in rows],
    )


def years(*, institution: int, most: int = 60) -> Statement[list[tuple[str, Sums]]]:
    """The periods in which an institution's codes had places, newest first, each with its sums."""
    return Statement(
        Sql.named("years"),
        {"institution": institution, "most": most},
        lambda rows: [(row["period"], _sums(row)) for row in rows],
    )


def code_in_full(typed: str) -> Statement[CodeInFull]:
    """
    One code, however it is typed, and where it counts.

    Raises (when run):
        CodeUnknown: No code reads like this.
    """

    def read(rows: Sequence[Row]) -> CodeInFull:
        if not rows:
            raise errors.CodeUnknown(typed)
        row = rows[0]
        code = reading.code(row["code"])
        following = row["following"] if code.calendar is Calendar.CUSTOM else next_key(code.calendar, code.period)
        return CodeInFull(
            code=code,
            counts_with=row["counts_with"],
            pool=row["pool"],
            periods=tuple(row["periods"]),
            following=following,
            beside=tuple(row["beside"]),
        )

    return Statement(Sql.named("code_in_full"), {"folded": fold(typed)}, read)


def in_use(*, counts_with: int, period: str, most: int = 100) -> Statement[InUse]:
    """What is on its way in one allocation, *most* of each kind."""

    def read(rows: Sequence[Row]) -> InUse:
        row = rows[0]
        return InUse(
            moment=reading.moment(row["moment"]),
            holds=tuple(reading.redemption(one) for one in row["holds"]),
            lapsed=row["lapsed"],
            payments=tuple(reading.redemption(one) for one in row["payments"]),
        )

    return Statement(Sql.named("in_use"), {"counts_with": counts_with, "period": period, "most": most}, read)


def _sums(row: Row) -> Sums:
    return Sums(**{name: int(row[name]) for name in Sums.__dataclass_fields__})
