"""A statement as a value: text, parameters, how to read the answer. A host runs it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Generic, TypeVar

T = TypeVar("T")

#: One row of an answer, by column name.
Row = Mapping[str, Any]

# A `:name` that is neither part of a `::cast` nor inside a quoted string or a comment.
_TOKEN = re.compile(r"--[^\n]*|'(?:[^']|'')*'|::|:([a-z_]+)|%")


@dataclass(frozen=True)
class Sql:
    """SQL with ``:name`` parameters, each cast where it stands (``:hold::interval``)."""

    text: str

    @classmethod
    def named(cls, name: str) -> Sql:
        """The query of ``sql/queries/<name>.sql``."""
        return cls((files("counterfoil") / "sql" / "queries" / f"{name}.sql").read_text("utf-8"))

    def given(self, parameters: Mapping[str, Any]) -> Sql:
        """
        Without the lines that name a parameter that is None.

        So each condition of a search that may be left out stands on a line of its own, and what is not asked for is not
        in the text: ``(:x IS NULL OR …)`` would hide it from the planner.
        """
        missing = {name for name, value in parameters.items() if value is None}
        kept = (
            line for line in self.text.splitlines() if not any(match[1] in missing for match in _TOKEN.finditer(line))
        )
        return Sql("\n".join(kept))

    def for_psycopg(self, schema: str = "counterfoil") -> str:
        """The text with ``%(name)s`` parameters, for a schema."""
        return _for_psycopg(self.text, schema)

    def for_asyncpg(self, schema: str = "counterfoil") -> tuple[str, tuple[str, ...]]:
        """The text with ``$1`` parameters, and the names in their order."""
        return _for_asyncpg(self.text, schema)


@dataclass(frozen=True)
class Statement(Generic[T]):
    """
    One round trip to the database.

    Attributes:
        sql: What to run.
        parameters: Its parameters, by name.
        read: Makes the result out of the rows; raises the refusal, if that is the answer.
        alone: It decides about a place, so it must be its own transaction at READ COMMITTED: an autocommit
            connection, never inside a caller's transaction.
    """

    sql: Sql
    parameters: Mapping[str, Any]
    read: Callable[[Sequence[Row]], T]
    alone: bool = False


@dataclass(frozen=True)
class AllOrNone(Generic[T]):
    """Several statements that take effect together or not at all. None of them decides about a place."""

    statements: tuple[Statement[T], ...]


def in_schema(text: str, schema: str) -> str:
    """The same SQL for another schema: a storm's scratch schema, a test's."""
    if schema == "counterfoil":
        return text
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema):
        raise ValueError(f"not a schema name: {schema!r} (lower-case letters, digits and underscores)")
    return re.sub(r"\bcounterfoil\.(?=[a-z_])", f"{schema}.", text)


def document(value: Any) -> Any:
    """A JSON value of a row, whether or not the driver has parsed it."""
    return json.loads(value) if isinstance(value, str | bytes) else value


@cache
def _for_psycopg(text: str, schema: str) -> str:
    def translate(match: re.Match[str]) -> str:
        if match[1]:
            return f"%({match[1]})s"
        return match[0].replace("%", "%%")

    return _TOKEN.sub(translate, in_schema(text, schema))


@cache
def _for_asyncpg(text: str, schema: str) -> tuple[str, tuple[str, ...]]:
    names: list[str] = []

    def translate(match: re.Match[str]) -> str:
        if not match[1]:
            return match[0]
        if match[1] not in names:
            names.append(match[1])
        return f"${names.index(match[1]) + 1}"

    return _TOKEN.sub(translate, in_schema(text, schema)), tuple(names)
