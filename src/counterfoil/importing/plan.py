"""What becomes of each line of a file, and doing it: all of it in one transaction, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from counterfoil import catalogue, errors
from counterfoil.codes import fold
from counterfoil.importing import cells, own, stripe, voucherify, wanted
from counterfoil.importing.cells import Row, Table
from counterfoil.importing.wanted import Given, Wanted
from counterfoil.pricing import check_chargeable
from counterfoil.procedure import Procedure
from counterfoil.statement import AllOrNone, Sql, Statement

_TRIES = 3


class Format(StrEnum):
    """Who wrote a file. A plain one is our own with fewer columns."""

    COUNTERFOIL = "counterfoil"
    STRIPE = "stripe"
    VOUCHERIFY = "voucherify"


_READERS: Mapping[Format, Callable[[Mapping[str, str], Given], Wanted]] = {
    Format.COUNTERFOIL: own.read,
    Format.STRIPE: stripe.read,
    Format.VOUCHERIFY: voucherify.read,
}


class Fate(StrEnum):
    """What becomes of a line: it is added, there is such a code already and it stays as it is, or it makes no sense."""

    ADD = "add"
    EXISTS = "exists"
    BAD = "bad"


@dataclass(frozen=True)
class Line:
    """One line of the file, with what becomes of it and why, in words."""

    number: int
    code: str
    fate: Fate
    why: str


@dataclass(frozen=True)
class Imported:
    """
    What becomes, or became, of a file.

    Attributes:
        done: The codes were added.
    """

    format: Format
    lines: tuple[Line, ...]
    done: bool

    def count(self, fate: Fate) -> int:
        """How many lines have this fate."""
        return sum(line.fate is fate for line in self.lines)


@dataclass(frozen=True)
class _Read:
    """A line, and what it asks for unless that makes no sense."""

    number: int
    code: str
    wanted: Wanted | None
    why: str


def import_codes(
    *, data: bytes, given: Given, format: Format | None = None, dry_run: bool = False, skip_bad: bool = False
) -> Procedure[Imported]:
    """
    Add the codes of a file to an institution.

    Nothing is added where a line is bad, unless *skip_bad*; with *dry_run*, nothing at all.

    Raises:
        FileUnreadable: It is no table of codes.
        Busy: Again and again, others added the same codes in the same moment.
    """
    try:
        table = cells.read(data)
        format = format or _detected(table)
        _check_columns(table, format, given)
    except cells.Unreadable as why:
        raise errors.FileUnreadable(str(why)) from None
    read = [_line(row, format, given) for row in table.rows]
    for _ in range(_TRIES):
        decided = yield from _decided(read, given)
        lines = tuple(line for line, _ in decided)
        bad = any(line.fate is Fate.BAD for line in lines)
        adding = [asked for line, asked in decided if asked and line.fate is Fate.ADD]
        # guard: a-bad-line-stops-all
        if dry_run or (bad and not skip_bad):
            return Imported(format, lines, done=False)
        statements = tuple(
            catalogue.add_code(
                institution=given.institution,
                code=one.code,
                terms=one.terms,
                calendar=one.calendar,
                counts_with=one.counts_with,
                buyer_identity=one.buyer_identity,
            )
            for one in _in_order(adding)
        )
        try:
            yield AllOrNone(statements)
        except errors.AlreadyExists:
            continue
        return Imported(format, lines, done=True)
    raise errors.Busy


def _detected(table: Table) -> Format:
    if all(name in table.columns for name in voucherify.TELLING):
        return Format.VOUCHERIFY
    if any(name in table.columns for name in stripe.TELLING):
        return Format.STRIPE
    return Format.COUNTERFOIL


def _check_columns(table: Table, format: Format, given: Given) -> None:
    """What is in the file and is not understood is not passed over in our own format: it may have been meant."""
    if format is Format.VOUCHERIFY:
        for name in voucherify.TELLING:
            if name not in table.columns:
                raise cells.Unreadable(f"a file of Voucherify's has a column {name!r}, and this one has not")
    if format is not Format.COUNTERFOIL:
        return
    known = [name.replace("_", " ") for name in own.COLUMNS]
    for name in table.columns:
        if name not in known:
            raise cells.Unreadable(f"the column {name!r} is not known: there may be {', '.join(own.COLUMNS)}")
    for name in given.cells:
        if name.replace("_", " ") in table.columns and name != "currency":
            raise cells.Unreadable(f"the file has a column {name}: do not say it for all lines as well")


def _line(row: Row, format: Format, given: Given) -> _Read:
    typed = row.cells.get("code", "")
    try:
        if row.wrong:
            raise ValueError(row.wrong)
        if not typed:
            raise ValueError("there is no code in it")
        asked = _READERS[format](row.cells, given)
        check_chargeable(asked.terms.discount)
        return _Read(row.number, typed, asked, "")
    except ValueError as why:
        return _Read(row.number, typed, None, str(why))


def _decided(read: Sequence[_Read], given: Given) -> Procedure[list[tuple[Line, Wanted | None]]]:
    """Each line with its fate, by what there is now."""
    asked = [one.wanted for one in read if one.wanted]
    folded = {fold(one.code) for one in asked} | {fold(one.counts_with) for one in asked if one.counts_with}
    there: Mapping[str, tuple[str, str]] = yield _codes_there(sorted(folded))
    products: set[str] = yield _products_there(sorted({id for one in asked for id in one.terms.products or ()}))
    in_file: dict[str, int] = {}
    lines: list[tuple[Line, Wanted | None]] = []
    for one in read:
        line = _fate(one, there, products, in_file, given)
        if line.fate is Fate.ADD and one.wanted:
            in_file[fold(one.wanted.code)] = one.number
        lines.append((line, one.wanted))
    return _without_a_pool(lines, set(there))


def _fate(
    one: _Read,
    there: Mapping[str, tuple[str, str]],
    products: set[str],
    in_file: Mapping[str, int],
    given: Given,
) -> Line:
    if one.wanted is None:
        return Line(one.number, one.code, Fate.BAD, one.why)
    same = there.get(fold(one.wanted.code))
    if same is not None:
        code, institution = same
        whose = "" if institution == given.institution.slug else f", of {institution}"
        return Line(one.number, one.code, Fate.EXISTS, f"there is {code}{whose}: it stays as it is")
    before = in_file.get(fold(one.wanted.code))
    if before is not None:
        return Line(one.number, one.code, Fate.BAD, f"it reads the same as the code of line {before}")
    for id in one.wanted.terms.products or ():
        if id not in products:
            return Line(one.number, one.code, Fate.BAD, f"there is no product {id}")
    return Line(one.number, one.code, Fate.ADD, wanted.in_words(one.wanted))


def _without_a_pool(lines: list[tuple[Line, Wanted | None]], there: set[str]) -> list[tuple[Line, Wanted | None]]:
    """The same, but that a code that would count with none that there is, or that is added before it, is bad."""
    while True:
        added = {fold(asked.code): asked for line, asked in lines if asked and line.fate is Fate.ADD}
        reached = there | {name for name, asked in added.items() if asked.counts_with is None}
        while more := {
            name for name, asked in added.items() if name not in reached and fold(asked.counts_with or "") in reached
        }:
            reached |= more
        stranded = [
            at
            for at, (line, asked) in enumerate(lines)
            if asked and line.fate is Fate.ADD and fold(asked.code) not in reached
        ]
        if not stranded:
            return lines
        for at in stranded:
            line, asked = lines[at]
            pool = asked.counts_with if asked else None
            lines[at] = replace(line, fate=Fate.BAD, why=f"there is no code {pool} to count with"), asked


def _in_order(adding: Sequence[Wanted]) -> list[Wanted]:
    """Each after the one that it counts with."""
    left, order = list(adding), list[Wanted]()
    names = {fold(one.code) for one in adding}
    while left:
        ready = [one for one in left if one.counts_with is None or fold(one.counts_with) not in names]
        order += ready
        names -= {fold(one.code) for one in ready}
        left = [one for one in left if one not in ready]
    return order


def _codes_there(folded: Sequence[str]) -> Statement[Mapping[str, tuple[str, str]]]:
    return Statement(
        Sql(
            "SELECT c.folded, c.code, i.slug FROM counterfoil.code AS c "
            "JOIN counterfoil.institution AS i ON i.id = c.institution_id WHERE c.folded = ANY (:folded::text[])"
        ),
        {"folded": list(folded)},
        lambda rows: {row["folded"]: (row["code"], row["slug"]) for row in rows},
    )


def _products_there(ids: Sequence[str]) -> Statement[set[Any]]:
    return Statement(
        Sql("SELECT p.id FROM counterfoil.product AS p WHERE p.id = ANY (:ids::text[])"),
        {"ids": list(ids)},
        lambda rows: {row["id"] for row in rows},
    )
