"""The database's clock, made movable: for tests and the demo. Never for selling."""

from __future__ import annotations

from datetime import timedelta
from importlib.resources import files
from typing import Any

import psycopg

from counterfoil.statement import in_schema


def install(connection: psycopg.Connection[Any], schema: str = "counterfoil") -> None:
    """Put a clock that can be moved in the place of the real one. It stands where it stood before, if it was moved."""
    text = (files("counterfoil") / "sql" / "trying" / "movable_clock.sql").read_text("utf-8")
    connection.execute(in_schema(text, schema).encode())


def set_ahead(connection: psycopg.Connection[Any], ahead: timedelta, schema: str = "counterfoil") -> None:
    """Let the database's clock be *ahead* of the real one."""
    connection.execute(in_schema("UPDATE counterfoil.clock_ahead SET ahead = %s", schema).encode(), (ahead,))


def is_installed(connection: psycopg.Connection[Any], schema: str = "counterfoil") -> bool:
    """Whether the clock of this database can be moved."""
    found = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{schema}.clock_ahead",)).fetchone()
    return bool(found and found[0])
