"""
The schema: numbered tables that only go forward, and functions that are made anew on every migrate.

Everything runs in one transaction under an advisory lock: two processes that migrate at once do it once, and a
migration that fails leaves nothing behind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import psycopg

from counterfoil.statement import in_schema

_SQL = files("counterfoil") / "sql"

_LOCK = int.from_bytes(hashlib.sha256(b"counterfoil migrate").digest()[:8], "big", signed=True)


@dataclass(frozen=True)
class Migration:
    """One numbered file of ``sql/tables/``."""

    number: int
    name: str
    text: str


@dataclass(frozen=True)
class Version:
    """
    Where a database's schema stands.

    Attributes:
        number: The last migration that ran; 0 for none.
        functions: The functions are those of this program.
    """

    number: int
    functions: bool

    @property
    def behind(self) -> str | None:
        """What is behind this program, in words, or None."""
        newest = migrations()[-1]
        if self.number < newest.number:
            return f"the schema is at {self.number}, this program is at {newest.number}: run `counterfoil migrate`"
        if self.number == newest.number and not self.functions:
            return "the functions are of another version of this program: run `counterfoil migrate`"
        return None


class SchemaTooNew(Exception):
    """The database was migrated by a later program, more than one version ahead of this one."""


def migrations() -> tuple[Migration, ...]:
    """The numbered files, in order."""
    found = sorted(
        (entry for entry in (_SQL / "tables").iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name
    )
    return tuple(
        Migration(int(entry.name[:4]), entry.name.removesuffix(".sql"), entry.read_text("utf-8")) for entry in found
    )


def functions() -> str:
    """The text of all functions, in an order that does not matter."""
    found = sorted(
        (entry for entry in (_SQL / "functions").iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name
    )
    # Unchecked while they are made, because they name each other.
    return "\n".join(["SET LOCAL check_function_bodies = off;", *(entry.read_text("utf-8") for entry in found)])


def as_sql(schema: str = "counterfoil") -> str:
    """All of it as one script, for whoever runs migrations by another tool: from nothing to the newest."""
    parts = [_bookkeeping(schema)]
    for migration in migrations():
        parts += [in_schema(migration.text, schema), _record(schema, migration)]
    parts += [_drop_functions(schema), in_schema(functions(), schema), _record_functions(schema)]
    return "BEGIN;\n\n" + "\n\n".join(part.strip() for part in parts) + "\n\nCOMMIT;\n"


def migrate(connection: psycopg.Connection[Any], schema: str = "counterfoil") -> tuple[Version, Version]:
    """
    Bring the schema up to date. Returns where it stood, and where it stands.

    Raises:
        SchemaTooNew: A later program was here.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        before = version(connection, schema)
        if before.number > migrations()[-1].number:
            raise SchemaTooNew(
                f"the schema is at {before.number}, and this program knows {migrations()[-1].number}: "
                "migrate with the newer program"
            )
        connection.execute(_bookkeeping(schema).encode())
        for migration in migrations():
            if migration.number > before.number:
                connection.execute(in_schema(migration.text, schema).encode())
                connection.execute(_record(schema, migration).encode())
        if not before.functions or before.number < migrations()[-1].number:
            connection.execute(_drop_functions(schema).encode())
            connection.execute(in_schema(functions(), schema).encode())
            connection.execute(_record_functions(schema).encode())
        return before, version(connection, schema)


def version(connection: psycopg.Connection[Any], schema: str = "counterfoil") -> Version:
    """Where the schema stands. Reads only."""
    rows = connection.execute("SELECT to_regclass(%s)", (f"{schema}.migration",)).fetchall()
    if rows[0][0] is None:
        return Version(0, functions=False)
    return version_of(dict(connection.execute(f"SELECT number, name FROM {schema}.migration".encode()).fetchall()))


def version_of(found: Mapping[int, str]) -> Version:
    """Where a schema stands by its bookkeeping: names by number."""
    return Version(max((number for number in found if number > 0), default=0), functions=found.get(0) == _digest())


def statements() -> Iterator[str]:
    """Every SQL text of the package that runs at a migrate: for those who check SQL."""
    yield from (migration.text for migration in migrations())
    yield functions()


def _digest() -> str:
    return hashlib.sha256(functions().encode()).hexdigest()[:16]


def _bookkeeping(schema: str) -> str:
    # Number 0 is the functions: their name is a digest of their text.
    return (
        f"CREATE SCHEMA IF NOT EXISTS {schema};\n"
        f"CREATE TABLE IF NOT EXISTS {schema}.migration (\n"
        "    number  integer PRIMARY KEY,\n"
        "    name    text NOT NULL,\n"
        "    ran_at  timestamptz NOT NULL DEFAULT statement_timestamp()\n"
        ");"
    )


def _record(schema: str, migration: Migration) -> str:
    return f"INSERT INTO {schema}.migration (number, name) VALUES ({migration.number}, '{migration.name}');"


def _record_functions(schema: str) -> str:
    return (
        f"INSERT INTO {schema}.migration (number, name) VALUES (0, '{_digest()}')\n"
        "ON CONFLICT (number) DO UPDATE SET name = excluded.name, ran_at = excluded.ran_at;"
    )


def _drop_functions(schema: str) -> str:
    # A function's result cannot be changed in place, so all are made anew. Nothing depends on them: no view, no default
    # calls one. But triggers do on theirs, whose result is always the same: those are replaced where they stand, so
    # that a migrate takes no lock of the tables that have them.
    return (
        "DO $drop$\nDECLARE\n    doomed regprocedure;\nBEGIN\n"
        f"    FOR doomed IN SELECT p.oid FROM pg_proc AS p WHERE p.pronamespace = '{schema}'::regnamespace\n"
        "        AND p.prorettype <> 'trigger'::regtype LOOP\n"
        "        EXECUTE 'DROP FUNCTION ' || doomed;\n    END LOOP;\nEND\n$drop$;"
    )
