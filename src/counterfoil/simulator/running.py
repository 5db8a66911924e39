"""A simulator in a thread of its own, driven by plain calls: for tests, the demo and the storm."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, TypeVar

import uvicorn
from starlette.applications import Starlette

from counterfoil.listening import listen
from counterfoil.simulator.account import Account
from counterfoil.simulator.app import create_app
from counterfoil.simulator.deliveries import Delivery, Endpoint
from counterfoil.simulator.engine import Cause, Ending
from counterfoil.simulator.faults import Fault
from counterfoil.simulator.objects import Document

T = TypeVar("T")


class Running:
    """
    A running simulator. Every method may be called from any thread; none waits for anything but what it names.

    Attributes:
        base_url: What ``STRIPE_API_BASE`` is to be.
        secret: What signs the events of the endpoints that are added without a secret of their own.
    """

    def __init__(self, base_url: str, loop: asyncio.AbstractEventLoop, app: Starlette, secret: str) -> None:
        self.base_url = base_url
        self.secret = secret
        self._loop = loop
        self._app = app

    @property
    def account(self) -> Account:
        """The account. It lives in the simulator's loop: reach into it through `call`."""
        account: Account = self._app.state.account
        return account

    def call(self, work: Callable[[], T]) -> T:
        """Do something in the simulator's loop."""

        async def there() -> T:
            return work()

        return self.wait(there())

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something that takes time in the simulator's loop, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def now(self) -> datetime:
        """The simulator's clock."""
        return self.account.engine.clock.now()

    def advance(self, by: timedelta) -> None:
        """Move the clock forward, and wait until what fell due was delivered."""
        self.wait(self.account.advance(by))

    def add_endpoint(self, url: str, **options: Any) -> Endpoint:
        """Send all events to *url*."""
        secret = options.pop("secret", self.secret)
        return self.call(lambda: self.account.add_endpoint(url, secret, **options))

    def pay(self, session_id: str, card: str = "4242424242424242") -> Document:
        """Pay, and wait until its events were delivered."""
        paid = self.call(lambda: self.account.engine.pay(session_id, card))
        self.wait_delivered()
        return paid

    def pay_delayed(self, session_id: str, ending: Ending = "succeeded") -> Document:
        """Pay by bank debit, and wait until the events of now were delivered."""
        paid = self.call(lambda: self.account.engine.pay_delayed(session_id, ending))
        self.wait_delivered()
        return paid

    def answer_challenge(self, session_id: str, *, approve: bool) -> Document:
        """The card's holder answers their bank; waits until its events were delivered."""
        answered = self.call(lambda: self.account.engine.answer_challenge(session_id, approve=approve))
        self.wait_delivered()
        return answered

    def expire(self, session_id: str) -> Document:
        """Expire a session, and wait until its event was delivered."""
        expired = self.call(lambda: self.account.engine.expire_session(session_id, Cause()))
        self.wait_delivered()
        return expired

    def fail_next(self, fault: Fault) -> None:
        """What the next calls that fit run into."""
        self.call(lambda: self.account.faults.add(fault))

    def hold_events(self) -> None:
        """Keep events back from now on."""
        self.call(lambda: setattr(self.account.deliveries, "held", True))

    def release_events(self, order: Callable[[list[Delivery]], list[Delivery]] | None = None) -> None:
        """Let go what was held, in an order of one's own, and wait until it was delivered."""
        self.call(lambda: self.account.deliveries.release(order))
        self.wait_delivered()

    def drop_events(self, number: int) -> None:
        """Lose the next deliveries."""
        self.call(lambda: setattr(self.account.deliveries, "drop", number))

    def resend(self, event_id: str) -> None:
        """Send an event again, and wait until it was delivered."""
        self.call(lambda: self.account.deliveries.resend(event_id))
        self.wait_delivered()

    def wait_delivered(self) -> None:
        """Return when nothing is on its way."""
        self.wait(self.account.deliveries.idle())

    def sessions(self) -> list[Document]:
        """All sessions, newest first."""
        return self.call(lambda: list(self.account.engine.newest("sessions")))

    def session(self, id: str) -> Document:
        """One session as it is now."""
        return self.call(lambda: dict(self.account.engine.session(id)))

    def events(self) -> list[Document]:
        """All events, newest first."""
        return self.call(lambda: list(self.account.engine.newest("events")))

    def deliveries(self) -> list[Delivery]:
        """All deliveries, in the order in which their events happened."""
        return self.call(lambda: list(self.account.deliveries.log))

    def forget(self) -> None:
        """Begin anew: no sessions, events, endpoints or faults; the clock stays."""
        self.call(self._forget)

    def _forget(self) -> None:
        engine, deliveries = self.account.engine, self.account.deliveries
        for store in (
            engine.sessions, engine.intents, engine.charges, engine.refunds, engine.disputes, engine.coupons,
            engine.promotion_codes, engine.customers, engine.events, deliveries.endpoints,
        ):  # fmt: skip
            store.clear()
        engine.agenda.clear()
        deliveries.forget()
        deliveries.held, deliveries.drop, deliveries.twice, deliveries.delay = False, 0, False, 0.0
        self.account.faults.clear()
        self.account.keys.stored.clear()


@contextmanager
def run_in_thread(
    *,
    port: int = 0,
    secret: str = "whsec_simulated_0123456789abcdef",  # noqa: S107 (a simulator keeps no secrets)
    **options: Any,
) -> Iterator[Running]:
    """
    Run a simulator on 127.0.0.1, on a free port unless one is given, until the block ends.

    *options* are those of `create_app`.
    """
    listening = listen("127.0.0.1", port)
    base_url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    app = create_app(base_url, webhook_secret=secret, **options)
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="on", access_log=False))
    ready = threading.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        began = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started and not began.done():  # noqa: ASYNC110 (uvicorn tells by a flag)
            await asyncio.sleep(0.005)
        ready.set()
        await began

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="simulator", daemon=True)
    thread.start()
    ready.wait(30)
    if not server.started:
        raise RuntimeError("the simulator did not start; is the port taken?")
    try:
        yield Running(base_url, loops[0], app, secret)
    finally:
        server.should_exit = True
        thread.join(30)
