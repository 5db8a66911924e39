"""
That something changed, told to the pages that are open: one look a second of one process, while somebody listens.

Nobody is told what: a page fetches its own part anew, and so sees what it may see. Whoever misses it misses nothing but
a moment, for each look compares all there is with what was there before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg_pool import PoolTimeout

from counterfoil.procedure import AsyncDatabase
from counterfoil.statement import Sql, Statement

log = logging.getLogger(__name__)

#: Seconds between two looks.
LOOK = 1.0


def latest() -> Statement[str]:
    """
    What is newest, as a text that is another one whenever something changed.

    Of the events, the last few: one with a lower number may be committed after one with a higher.
    """
    return Statement(
        Sql(
            "SELECT concat_ws(' ', "
            "(SELECT string_agg(e.seq::text, ',') FROM "
            "(SELECT seq FROM counterfoil.event ORDER BY seq DESC LIMIT 50) AS e), "
            "(SELECT string_agg(a.id::text, ',') FROM "
            "(SELECT id FROM counterfoil.audit ORDER BY id DESC LIMIT 10) AS a), "
            "(SELECT count(*) FROM counterfoil.attention WHERE resolved_at IS NULL)) AS latest"
        ),
        {},
        lambda rows: str(rows[0]["latest"]),
    )


class Changes:
    """Who listens in this process, and the one look that is taken for all of them."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Event] = set()
        self._looking: asyncio.Task[None] | None = None
        self.ending = False

    @asynccontextmanager
    async def listening(self, database: AsyncDatabase) -> AsyncIterator[asyncio.Event]:
        """An event that is set when something changed since, or when the service is about to end (`ending`)."""
        heard = asyncio.Event()
        if self.ending:
            heard.set()
        self._listeners.add(heard)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look(database))
        try:
            yield heard
        finally:
            self._listeners.discard(heard)
            if not self._listeners and self._looking is not None:
                self._looking.cancel()
                self._looking = None

    def end(self) -> None:
        """The service is about to end: whoever listens is let go."""
        self.ending = True
        self._wake()

    def _wake(self) -> None:
        for heard in self._listeners:
            heard.set()

    async def _look(self, database: AsyncDatabase) -> None:
        before: str | None = None
        while True:
            try:
                now = await database.run(latest())
                if before is not None and now != before:
                    self._wake()
                before = now
            except (psycopg.Error, PoolTimeout) as error:
                log.warning("what changed cannot be read: %s", error)
            await asyncio.sleep(LOOK)
