"""The simulator as an ASGI application: the API, the payment page, the controls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from counterfoil.simulator import api, control, dashboard, keeping, till
from counterfoil.simulator.account import Account
from counterfoil.simulator.clock import Clock
from counterfoil.simulator.deliveries import SANDBOX
from counterfoil.simulator.engine import Engine

STATIC = Path(__file__).parent / "static"


def create_app(
    base_url: str,
    *,
    skew: timedelta = timedelta(),
    source: Callable[[], float] = time.time,
    floor: timedelta = timedelta(minutes=30),
    retries: tuple[int, ...] = SANDBOX,
    webhook_url: str | None = None,
    webhook_secret: str | None = None,
    on_move: Callable[[timedelta], None] | None = None,
    rate_limit: int | None = None,
    state: Path | None = None,
) -> Starlette:
    """
    The application, with an account of its own.

    Args:
        base_url: Where it will be reached: the payment pages' addresses begin with it.
        skew: How far its clock is ahead of this machine's.
        source: This machine's clock, in seconds since the epoch; one that stands still makes a run repeatable.
        floor: The least time to a session's ``expires_at``.
        retries: Seconds to each next attempt of a delivery.
        webhook_url: Where to send all events.
        webhook_secret: The secret to sign them with; made up if it is missing.
        rate_limit: How many calls of one kind a second may see; Stripe's is 25.
        state: A file to keep it all in; in memory only unless given. Written a second after a change, and at the end.
        on_move: Told how far the clock will be ahead, before it is moved: so that another clock can go along.

    Raises:
        StateUnreadable: The file is no state of this program.
    """
    saved = keeping.read(state) if state else None

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        engine = Engine(base_url.rstrip("/"), Clock(skew, source), floor=int(floor.total_seconds()))
        account = Account(engine, retries, on_move, rate_limit)
        if saved:
            keeping.restore(account, saved)
        known = [one for one in account.deliveries.endpoints.values() if one.url == webhook_url]
        if webhook_url and not known:
            account.add_endpoint(webhook_url, webhook_secret)
        elif known and webhook_secret:
            known[0].secrets = [webhook_secret]
        app.state.account = account
        tasks = [asyncio.create_task(account.keep_time())]
        if state:
            tasks.append(asyncio.create_task(_keep(account, state)))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await account.deliveries.close()
            if state:
                keeping.save(account, state)

    return Starlette(
        lifespan=lifespan,
        middleware=[Middleware(SafeHeaders), *([Middleware(Noticed)] if state else [])],
        routes=[
            Mount("/static", StaticFiles(directory=STATIC)),
            *till.routes,
            *control.routes,
            *dashboard.routes,
            Route("/{path:path}", _Api(), methods=None),
        ],
    )


async def _keep(account: Account, state: Path) -> None:
    """Save what has changed, once a second."""
    while True:
        await asyncio.sleep(1)
        if account.engine.changed:
            account.engine.changed = False
            keeping.save(account, state)


class _Api:
    """Everything else is the API's, also what it does not know."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await api.serve(scope, receive, send)


class Noticed:
    """Whatever was asked may have changed something, which is then to be saved."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Notice it once it was answered."""
        try:
            await self.app(scope, receive, send)
        finally:
            if scope["type"] == "http":
                scope["app"].state.account.engine.changed = True


class SafeHeaders:
    """Pages load what this server has, and nothing else."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers to pages."""

        async def dressed(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = [
                    (
                        b"content-security-policy",
                        (
                            b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                            b"base-uri 'none'"
                        ),
                    ),
                    (b"x-content-type-options", b"nosniff"),
                    (b"referrer-policy", b"same-origin"),
                ]
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        await self.app(scope, receive, dressed if scope["type"] == "http" else send)
