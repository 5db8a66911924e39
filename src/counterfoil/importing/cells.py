"""
A file as a table: whatever wrote it, in lines with a number and cells with a name.

UTF-8 with or without a mark, UTF-16 as Excel writes its text; commas, semicolons or tabs; any ends of lines.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: Bytes of a file, and lines of it.
MOST_BYTES = 1024 * 1024
MOST_LINES = 5_000

#: Cells that a spreadsheet would take for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class Unreadable(ValueError):
    """The file is no table of codes; says why, and what to do."""


@dataclass(frozen=True)
class Row:
    """
    One line of a table.

    Attributes:
        number: That of the line in the file on which it begins, from 1.
        cells: By the names of the columns, as `plain_name` makes them.
        wrong: What is wrong with the line as such; None if it is as the header says.
    """

    number: int
    cells: Mapping[str, str]
    wrong: str | None = None


@dataclass(frozen=True)
class Table:
    """A file of codes: the names of its columns, and its lines."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def defused(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: an apostrophe is put before it, which `fused` takes off."""
    return f"'{cell}" if cell.startswith((*FORMULA, "'")) else cell


def fused(cell: str) -> str:
    """A cell without the apostrophe that was put before it."""
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith((*FORMULA, "'")) else cell


def plain_name(name: str) -> str:
    """The name of a column, however it is written: ``max_redemptions``, ``Max Redemptions``, ``Expires At (UTC)``."""
    return re.sub(r"[\s_.]+", " ", name.strip().casefold().removesuffix("(utc)")).strip()


def read(data: bytes) -> Table:
    """
    The table of a file.

    Raises:
        Unreadable: It is too large, in no encoding that is known, or has no header or no line.
    """
    if len(data) > MOST_BYTES:
        raise Unreadable(f"the file is larger than {MOST_BYTES // 1024:,} KiB: split it")
    text = decoded(data)
    if "\0" in text:
        raise Unreadable("the file has zero bytes in it: save it as CSV, in UTF-8")
    # Excel's own first line about what separates the cells.
    said = re.match(r"sep=([,;\t])\r?\n", text)
    text, skipped = (text[said.end() :], 1) if said else (text, 0)
    first = re.split(r"[\r\n]", text.lstrip("\r\n"), maxsplit=1)[0]
    separator = said[1] if said else max(",;\t", key=first.count)
    lines = _lines(text, separator, skipped)
    if not lines:
        raise Unreadable("the file is empty: its first line names the columns, like code,cap")
    header = tuple(plain_name(fused(name)) for name in lines[0][1])
    while header and not header[-1]:
        header = header[:-1]
    if "code" not in header:
        raise Unreadable(f"the first line names the columns, and none of them is code: it says {first.strip()[:100]!r}")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise Unreadable(f"the column {twice[0]!r} is there twice")
    if len(lines) - 1 > MOST_LINES:
        raise Unreadable(f"the file has {len(lines) - 1:,} lines, and {MOST_LINES:,} at most are read: split it")
    return Table(header, tuple(_row(header, number, cells) for number, cells in lines[1:]))


def decoded(data: bytes) -> str:
    """
    The text of a file.

    Raises:
        Unreadable: It is in no encoding that is known.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(encoding)
            except UnicodeDecodeError:
                raise Unreadable(f"the file begins as {encoding.upper()} does, and is not: save it as UTF-8") from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise Unreadable(f"line {line} is not in UTF-8: save the file as “CSV UTF-8”") from None


def _lines(text: str, separator: str, skipped: int) -> list[tuple[int, list[str]]]:
    """The lines that have anything in them, each with its number."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    found: list[tuple[int, list[str]]] = []
    number = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                found.append((number + skipped, cells))
            number = reader.line_num + 1
    except csv.Error as error:
        at = number + skipped
        raise Unreadable(f"line {at} is no line of a table ({error}): look for a quote too many") from None
    return found


def _row(header: Sequence[str], number: int, cells: Sequence[str]) -> Row:
    given = [fused(cell.strip()) for cell in cells]
    while len(given) > len(header) and not given[-1]:
        given.pop()
    wrong = None
    if len(given) != len(header):
        wrong = f"it has {_cells(len(given))}, and the first line names {_cells(len(header))}"
    return Row(number, dict(zip(header, given, strict=False)), wrong)


def _cells(number: int) -> str:
    return "1 cell" if number == 1 else f"{number} cells"
