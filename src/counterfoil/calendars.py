"""
The periods that codes have: what is one of a code's, those that are given to it by name, and what cuts the others.

Like the verbs, each function makes one statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from counterfoil import errors, reading
from counterfoil.model import Code
from counterfoil.periods import Calendar, NamedPeriod, check_key, fold_name, is_key
from counterfoil.statement import Row, Sql, Statement, document


def known_period(*, code: Code, period: str) -> Statement[None]:
    """
    Nothing, if this is a period of the code's: of its calendar, one of its own by name, or one that it had places in
    before its calendar became another.

    Raises (also when run):
        PeriodInvalid: It is none; the message shows what one looks like.
    """
    if not any(is_key(calendar, period) for calendar in Calendar):
        raise no_such_period(code, period, ())

    def read(rows: Sequence[Row]) -> None:
        names: list[str] = document(rows[0]["names"])
        if rows[0]["had"] or (code.calendar is Calendar.CUSTOM and period in names):
            return
        if code.calendar is Calendar.CUSTOM or not is_key(code.calendar, period):
            raise no_such_period(code, period, names if code.calendar is Calendar.CUSTOM else ())

    return Statement(
        Sql(
            "SELECT EXISTS(SELECT FROM counterfoil.allocation AS a WHERE a.code_id = coalesce(c.counts_with, c.id) "
            "AND a.period = :period::text) AS had, ARRAY(SELECT p.name FROM counterfoil.named_period AS p "
            "WHERE p.code_id = coalesce(c.counts_with, c.id) ORDER BY p.starts_on DESC) AS names "
            "FROM counterfoil.code AS c WHERE c.id = :code::bigint"
        ),
        {"code": code.id, "period": period},
        read,
    )


def no_such_period(code: Code, period: str, names: Sequence[str]) -> errors.PeriodInvalid:
    """What is said of a period that a code does not have. *names*: those that it has."""
    if code.calendar is Calendar.CUSTOM or names:
        has = f": it has {', '.join(names[:10])}" if names else ""
        return errors.PeriodInvalid(f"{period[:32]!r} is no period of this code{has}.")
    try:
        check_key(code.calendar, period)
    except ValueError as error:
        return errors.PeriodInvalid(str(error))
    return errors.PeriodInvalid(f"{period[:32]!r} is no period of this code.")


def named_periods(*, code: Code) -> Statement[list[NamedPeriod]]:
    """The periods with names of a code, or of the one it counts with, newest first."""
    return Statement(
        Sql(
            "SELECT p.name, p.starts_on, p.ends_on FROM counterfoil.named_period AS p "
            "WHERE p.code_id = (SELECT coalesce(c.counts_with, c.id) FROM counterfoil.code AS c "
            "WHERE c.id = :code::bigint) ORDER BY p.starts_on DESC"
        ),
        {"code": code.id},
        lambda rows: [_named(row) for row in rows],
    )


def set_period(*, code: Code, name: str, starts_on: date, ends_on: date) -> Statement[str]:
    """
    Give a code a period of its own, or give the one of this name other days; the outcome: added, changed, same.

    Raises (when run):
        PeriodOverlaps: Some of the days are another period's.
        AlreadyExists: The code has a period whose name reads the same.
        CountsElsewhere: The code counts with another one, whose periods are its own.
    """

    def read(rows: Sequence[Row]) -> str:
        outcome, other = rows[0]["outcome"], document(rows[0]["other"])
        match outcome:
            case "overlaps":
                raise errors.PeriodOverlaps(
                    period=other["name"],
                    starts_on=reading.day(other["starts_on"]),
                    ends_on=reading.day(other["ends_on"]),
                )
            case "reads_the_same":
                raise errors.AlreadyExists(f"The code has a period {other['name']!r}, which reads the same.")
            case "shared":
                raise errors.CountsElsewhere(code.counts_with or "")
        return str(outcome)

    return Statement(
        Sql(
            "SELECT s.outcome, to_jsonb(s.other) AS other FROM counterfoil.set_period(code => :code::bigint, "
            "name => :name::text, folded => :folded::text, "
            "starts_on => :starts_on::date, ends_on => :ends_on::date) AS s"
        ),
        {"code": code.id, "name": name, "folded": fold_name(name), "starts_on": starts_on, "ends_on": ends_on},
        read,
    )


def remove_period(*, code: Code, name: str) -> Statement[None]:
    """
    Take a period away from a code.

    Raises (when run):
        PeriodInvalid: The code has none of this name.
        PeriodInUse: It has an allocation, which stays.
        CountsElsewhere: The code counts with another one, whose periods are its own.
    """
    if code.counts_with is not None:
        raise errors.CountsElsewhere(code.counts_with)
    if not is_key(Calendar.CUSTOM, name):
        raise no_such_period(code, name, ())

    def read(rows: Sequence[Row]) -> None:
        match rows[0]["outcome"]:
            case "not_found":
                raise no_such_period(code, name, ())
            case "in_use":
                raise errors.PeriodInUse(name)

    return Statement(
        Sql("SELECT outcome FROM counterfoil.remove_period(code => :code::bigint, name => :name::text)"),
        {"code": code.id, "name": name},
        read,
    )


@dataclass(frozen=True)
class Shift:
    """
    What a change makes of the period that is now, for one code.

    Attributes:
        was, becomes: Its period now, and after the change: keys, empty where there is none.
        starts_on, ends_on: The days of the one that it becomes.
    """

    code: str
    was: str
    becomes: str
    starts_on: date | None
    ends_on: date | None


def shifts(
    *,
    institution: str,
    time_zone: str | None = None,
    year_start: str | None = None,
    code: Code | None = None,
    calendar: Calendar | None = None,
    most: int = 20,
) -> Statement[list[Shift]]:
    """
    What it would mean if an institution had another zone or another start of the year, or one of its codes another
    calendar: of the codes that are counted by themselves, those first whose period would be another.
    """
    return Statement(
        Sql.named("shifts"),
        {
            "institution": institution,
            "time_zone": time_zone,
            "year_start": year_start,
            "code": code.id if code else None,
            "calendar": None if calendar is None else str(calendar),
            "most": most,
        },
        lambda rows: [Shift(row["code"], row["was"], row["becomes"], row["starts_on"], row["ends_on"]) for row in rows],
    )


def _named(row: Row) -> NamedPeriod:
    return NamedPeriod(name=row["name"], starts_on=row["starts_on"], ends_on=row["ends_on"])
