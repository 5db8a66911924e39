"""psycopg 3, sync and async."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from counterfoil.audit import Actor
from counterfoil.errors import InsideTransaction
from counterfoil.hosts.translation import refusal
from counterfoil.statement import AllOrNone, Sql, Statement

T = TypeVar("T")

#: Whoever a statement is run for, if the audit log is to know.
Acting = Callable[[], Actor | None]


def nobody() -> Actor | None:
    """The audit log calls them by the database's user."""
    return None


class Psycopg:
    """Runs statements on a connection, or on connections of a pool. What decides needs autocommit."""

    def __init__(
        self,
        source: psycopg.Connection[Any] | ConnectionPool[psycopg.Connection[Any]],
        schema: str = "counterfoil",
        acting: Acting = nobody,
    ) -> None:
        self._source = source
        self._schema = schema
        self._acting = acting

    def run(self, statement: Statement[T]) -> T:
        """Run one statement and read its answer."""
        if isinstance(self._source, ConnectionPool):
            with self._source.connection() as connection:
                return self._on(connection, statement)
        return self._on(self._source, statement)

    def run_all(self, together: AllOrNone[T]) -> list[T]:
        """Run several statements in one transaction. What one of them refuses, none of them did."""
        if isinstance(self._source, ConnectionPool):
            with self._source.connection() as connection, connection.transaction():
                return [self._on(connection, statement) for statement in together.statements]
        with self._source.transaction():
            return [self._on(self._source, statement) for statement in together.statements]

    def _on(self, connection: psycopg.Connection[Any], statement: Statement[T]) -> T:
        _check(connection, statement)
        text, parameters, told = _told(statement, self._schema, self._acting())
        made: Any = psycopg.ClientCursor if told else psycopg.Cursor
        with _translated(), made(connection, row_factory=dict_row) as cursor:
            cursor.execute(text, parameters)
            if told:
                cursor.nextset()
            rows = cursor.fetchall()
        return statement.read(rows)


class AsyncPsycopg:
    """Runs statements on an async connection, or on connections of a pool. What decides needs autocommit."""

    def __init__(
        self,
        source: psycopg.AsyncConnection[Any] | AsyncConnectionPool[psycopg.AsyncConnection[Any]],
        schema: str = "counterfoil",
        acting: Acting = nobody,
    ) -> None:
        self._source = source
        self._schema = schema
        self._acting = acting

    async def run(self, statement: Statement[T]) -> T:
        """Run one statement and read its answer."""
        if isinstance(self._source, AsyncConnectionPool):
            async with self._source.connection() as connection:
                return await self._on(connection, statement)
        return await self._on(self._source, statement)

    async def run_all(self, together: AllOrNone[T]) -> list[T]:
        """Run several statements in one transaction. What one of them refuses, none of them did."""
        if isinstance(self._source, AsyncConnectionPool):
            async with self._source.connection() as connection, connection.transaction():
                return [await self._on(connection, statement) for statement in together.statements]
        async with self._source.transaction():
            return [await self._on(self._source, statement) for statement in together.statements]

    async def _on(self, connection: psycopg.AsyncConnection[Any], statement: Statement[T]) -> T:
        _check(connection, statement)
        text, parameters, told = _told(statement, self._schema, self._acting())
        made: Any = psycopg.AsyncClientCursor if told else psycopg.AsyncCursor
        with _translated():
            async with made(connection, row_factory=dict_row) as cursor:
                await cursor.execute(text, parameters)
                if told:
                    cursor.nextset()
                rows = await cursor.fetchall()
        return statement.read(rows)


#: Local to the transaction. Two statements that are sent as one are one round trip, and one transaction.
_FOR = Sql("SELECT set_config('counterfoil.actor', :counterfoil_actor::text, true);\n")


def _told(statement: Statement[Any], schema: str, actor: Actor | None) -> tuple[bytes, Mapping[str, Any], bool]:
    """What to send, with which parameters; and whether it says whom it is for, which takes a client cursor."""
    text = statement.sql.for_psycopg(schema)
    if actor is None:
        return text.encode(), statement.parameters, False
    return (
        (_FOR.for_psycopg(schema) + text).encode(),
        {**statement.parameters, "counterfoil_actor": str(actor)},
        True,
    )


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
