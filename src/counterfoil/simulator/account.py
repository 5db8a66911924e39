"""One simulated account: its state, its keys, its faults and its deliveries."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

from counterfoil.simulator import money_back, objects
from counterfoil.simulator.deliveries import SANDBOX, Deliveries, Endpoint
from counterfoil.simulator.engine import Engine
from counterfoil.simulator.faults import Faults
from counterfoil.simulator.idempotency import Keys


class Account:
    """
    Everything behind the simulator's API, page and controls. Lives in one event loop.

    Attributes:
        rate_limit: How many calls of one kind a second may see; None for any number. Stripe's is 25
            (docs.stripe.com/rate-limits, each endpoint).
    """

    def __init__(
        self,
        engine: Engine,
        retries: tuple[int, ...] = SANDBOX,
        on_move: Callable[[timedelta], None] | None = None,
        rate_limit: int | None = None,
    ) -> None:
        self.rate_limit = rate_limit
        self._seen: tuple[int, Counter[str]] = (0, Counter())
        self.engine = engine
        money_back.install(engine)
        self.keys = Keys(engine.clock)
        self.faults = Faults()
        self.deliveries = Deliveries(engine, retries)
        self._moved = asyncio.Event()
        self._on_move = on_move

    def over_rate(self, call: str) -> bool:
        """Count a call; whether it is one too many of its kind in this second."""
        second = self.engine.clock.stamp()
        if self._seen[0] != second:
            self._seen = (second, Counter())
        self._seen[1][call] += 1
        return self.rate_limit is not None and self._seen[1][call] > self.rate_limit

    async def advance(self, by: timedelta) -> None:
        """
        Move the clock forward, and let happen what falls due on the way, in its order and at its own time.

        What is delivered on the way is answered before the clock goes on, so that the next attempt is at its own time
        too. Returns when nothing is on its way any more.
        """
        clock = self.engine.clock
        if self._on_move:
            self._on_move(clock.ahead + by)
        until = clock.seconds() + by.total_seconds()
        while (due := self.engine.agenda.next()) is not None and due <= until:
            clock.advance(timedelta(seconds=max(0.0, due - clock.seconds())))
            self.engine.agenda.catch_up()
            await self.deliveries.idle()
        clock.advance(timedelta(seconds=max(0.0, until - clock.seconds())))
        self.engine.agenda.catch_up()
        self._moved.set()
        await self.deliveries.idle()

    def add_endpoint(self, url: str, secret: str | None = None, **options: object) -> Endpoint:
        """Send all events to *url* from now on."""
        endpoint = Endpoint(
            id=objects.new_id("we"),
            url=url,
            secrets=[secret or objects.new_id("whsec", 32)],
            enabled_events=["*"],
            created=self.engine.clock.stamp(),
        )
        for name, value in options.items():
            setattr(endpoint, name, value)
        return self.deliveries.add_endpoint(endpoint)

    async def keep_time(self) -> None:
        """Let happen what is due, when it is due, for as long as this runs."""
        while True:
            self.engine.agenda.catch_up()
            due = self.engine.agenda.next()
            wait = None if due is None else max(0.0, due - self.engine.clock.seconds())
            self._moved.clear()
            # Something due sooner may be added meanwhile: look again every second at the latest.
            # (Not by `wait_for`: in Python 3.11 it swallows a cancellation that comes together with what it waits for.)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(wait, 1.0) if wait is not None else 1.0):
                    await self._moved.wait()
