"""A schema of its own for a storm, dropped afterwards."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from counterfoil import movable_clock, schema


@contextmanager
def scratch_schema(database_url: str) -> Iterator[str]:
    """Make a schema with a clock that can be moved, and drop it in the end, however that comes."""
    name = f"storm_{secrets.token_hex(6)}"
    with psycopg.connect(database_url, autocommit=True) as connection:
        schema.migrate(connection, name)
        movable_clock.install(connection, name)
    try:
        yield name
    finally:
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA {name} CASCADE".encode())
