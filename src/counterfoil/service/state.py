"""What a running service holds: the pool, the two hosts, and what is the same for every checkout."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import psycopg
from psycopg_pool import AsyncConnectionPool
from starlette.requests import HTTPConnection

from counterfoil.hosts.psycopg import AsyncPsycopg
from counterfoil.model import Shop
from counterfoil.procedure import Procedure, adrive
from counterfoil.service.metrics import Metrics
from counterfoil.service.settings import Settings
from counterfoil.service.skew import SkewWatch
from counterfoil.service.throttle import Throttle
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
    skew: SkewWatch
    sign_ins: Throttle

    async def run(self, statement: Statement[T]) -> T:
        """One statement, committed when this returns."""
        return await self.database.run(statement)

    async def drive(self, procedure: Procedure[T]) -> T:
        """One procedure, to its end."""
        return await adrive(procedure, self.database, self.metrics.watching(self.stripe))


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
    stripe = AsyncStripe(settings.stripe_secret_key, settings.clocks, settings.stripe_api_base)
    try:
        yield State(
            settings=settings,
            shop=settings.shop,
            database=AsyncPsycopg(pool, settings.database_schema),
            stripe=stripe,
            metrics=Metrics(),
            skew=SkewWatch(settings.clocks),
            sign_ins=Throttle(most=10, within=timedelta(minutes=15)),
        )
    finally:
        await stripe.close()
        await pool.close()


def state_of(connection: HTTPConnection) -> State:
    """The state of the service that serves this request."""
    state: State = connection.app.state.counterfoil
    return state
