"""What a running service holds: the pool, the two hosts, and what is the same for every checkout."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psycopg
from psycopg_pool import AsyncConnectionPool
from starlette.requests import HTTPConnection

from counterfoil.errors import Refusal
from counterfoil.hosts.psycopg import AsyncPsycopg
from counterfoil.model import Shop
from counterfoil.pace import Pace
from counterfoil.procedure import Procedure, adrive
from counterfoil.service import acting
from counterfoil.service.metrics import Metrics
from counterfoil.service.passwords import Passwords
from counterfoil.service.settings import Settings
from counterfoil.service.skew import SkewWatch
from counterfoil.statement import Statement
from counterfoil.stripe.drivers import AsyncStripe

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class State:
    """The service's parts. Handlers reach everything through `run` and `drive`."""

    settings: Settings
    shop: Shop
    database: AsyncPsycopg
    stripe: AsyncStripe
    metrics: Metrics
    pace: Pace
    skew: SkewWatch
    passwords: Passwords
    _going_on: set[asyncio.Task[Any]] = field(default_factory=set)

    async def run(self, statement: Statement[T]) -> T:
        """One statement, committed when this returns."""
        return await self.database.run(statement)

    async def drive(self, procedure: Procedure[T]) -> T:
        """One procedure, to its end."""
        return await adrive(procedure, self.database, self.metrics.watching(self.stripe))

    def go_on(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin work that goes on when whoever asked for it does not wait for it. It ends with the service."""
        task = asyncio.ensure_future(work)
        self._going_on.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._going_on.discard(task)
        failure = None if task.cancelled() else task.exception()
        if failure is not None and not isinstance(failure, Refusal):
            log.error("what went on by itself failed", exc_info=failure)

    async def stop(self) -> None:
        """End what still goes on: what stands in line gives its place back."""
        for task in self._going_on:
            task.cancel()
        await asyncio.gather(*self._going_on, return_exceptions=True)


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[State]:
    """Open the pool and the client, and close them."""
    pool: AsyncConnectionPool[psycopg.AsyncConnection[Any]] = AsyncConnectionPool(
        settings.database_url,
        min_size=min(2, settings.database_pool),
        max_size=settings.database_pool,
        timeout=settings.lock_timeout.total_seconds(),
        open=False,
        kwargs={"autocommit": True, "application_name": "counterfoil"},
    )
    await pool.open()
    pace = settings.new_pace()
    stripe = AsyncStripe(settings.stripe_secret_key, settings.clocks, settings.stripe_api_base)
    state = State(
        settings=settings,
        shop=settings.shop,
        database=AsyncPsycopg(pool, settings.database_schema, acting.current),
        stripe=stripe,
        metrics=Metrics(pace),
        pace=pace,
        skew=SkewWatch(settings.clocks),
        passwords=Passwords(),
    )
    try:
        yield state
    finally:
        await state.stop()
        await stripe.close()
        await pool.close()


def state_of(connection: HTTPConnection) -> State:
    """The state of the service that serves this request."""
    state: State = connection.app.state.counterfoil
    return state
