"""
Where a run takes place: a schema of its own, in which time stands still unless it is moved.

The database's clock and Stripe's are two, as in life, and a run moves both. Neither runs by itself, so that the same
story is the same run, however long the machine takes over it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import psycopg
from tools import guards

from counterfoil import schema
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.statement import in_schema

_CLOCK = """
CREATE OR REPLACE FUNCTION counterfoil.clock() RETURNS timestamptz LANGUAGE sql VOLATILE
AS $$ SELECT current_setting('simulation.now')::timestamptz $$
"""


class Ground:
    """One schema of one database, and the connection that is used for everything."""

    def __init__(self, connection: psycopg.Connection[Any], name: str = "simulation") -> None:
        self.connection, self.name = connection, name
        self.host = Psycopg(connection, name)
        schema.migrate(connection, name)
        self.run(_CLOCK)

    def run(self, text: str, *values: Any) -> psycopg.Cursor[Any]:
        """Run SQL that is written for the ordinary schema."""
        return self.connection.execute(in_schema(text, self.name).encode(), values or None)

    def set_clock(self, now: datetime) -> None:
        """Let the database's clock be at this moment, and stand."""
        self.connection.execute("SELECT set_config('simulation.now', %s, false)", (now.isoformat(),))

    def clear(self) -> None:
        """No rows."""
        for table in (
            "portal_notice", "entitlement", "checkout", "redemption", "allocation", "code", "product", "institution",
            "stripe_event", "attention",
        ):  # fmt: skip
            self.run(f"DELETE FROM counterfoil.{table}")

    @contextmanager
    def without(self, guard: str) -> Iterator[None]:
        """The functions without one of their guards, until the block ends."""
        found = [one for one in guards.guards() if one.name == guard and one.file.suffix == ".sql"]
        assert found, f"there is no guard {guard} in SQL"
        text = (guards.SOURCE / found[0].file).read_text("utf-8")
        self._replace(guards.without(text, found[0].line, python=False))
        try:
            yield
        finally:
            self._replace(text)

    def _replace(self, text: str) -> None:
        with self.connection.transaction():
            self.run(text.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))
