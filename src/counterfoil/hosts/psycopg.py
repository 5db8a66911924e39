"""psycopg 3, sync and async."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from counterfoil.errors import InsideTransaction
from counterfoil.hosts.translation import refusal
from counterfoil.statement import Statement

T = TypeVar("T")


class Psycopg:
    """Runs statements on a connection, or on connections of a pool. What decides needs autocommit."""

    def __init__(
        self, source: psycopg.Connection[Any] | ConnectionPool[psycopg.Connection[Any]], schema: str = "counterfoil"
    ) -> None:
        self._source = source
        self._schema = schema

    def run(self, statement: Statement[T]) -> T:
        """Run one statement and read its answer."""
        if isinstance(self._source, ConnectionPool):
            with self._source.connection() as connection:
                return self._on(connection, statement)
        return self._on(self._source, statement)

    def _on(self, connection: psycopg.Connection[Any], statement: Statement[T]) -> T:
        _check(connection, statement)
        with _translated(), connection.cursor(row_factory=dict_row) as cursor:
            cursor.execute(statement.sql.for_psycopg(self._schema).encode(), statement.parameters)
            rows = cursor.fetchall()
        return statement.read(rows)


class AsyncPsycopg:
    """Runs statements on an async connection, or on connections of a pool. What decides needs autocommit."""

    def __init__(
        self,
        source: psycopg.AsyncConnection[Any] | AsyncConnectionPool[psycopg.AsyncConnection[Any]],
        schema: str = "counterfoil",
    ) -> None:
        self._source = source
        self._schema = schema

    async def run(self, statement: Statement[T]) -> T:
        """Run one statement and read its answer."""
        if isinstance(self._source, AsyncConnectionPool):
            async with self._source.connection() as connection:
                return await self._on(connection, statement)
        return await self._on(self._source, statement)

    async def _on(self, connection: psycopg.AsyncConnection[Any], statement: Statement[T]) -> T:
        _check(connection, statement)
        with _translated():
            async with connection.cursor(row_factory=dict_row) as cursor:
                await cursor.execute(statement.sql.for_psycopg(self._schema).encode(), statement.parameters)
                rows = await cursor.fetchall()
        return statement.read(rows)


def _check(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], statement: Statement[Any]) -> None:
    # guard: decided-in-a-transaction-of-its-own
    if statement.alone and (
        not connection.autocommit or connection.info.transaction_status is not TransactionStatus.IDLE
    ):
        raise InsideTransaction(
            "a place is decided in a transaction of its own: give the host an autocommit connection that is not in use"
        )


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        meant = refusal(error.sqlstate, error.diag.constraint_name)
        if meant is None:
            raise
        raise meant from error
