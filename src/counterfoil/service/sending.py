"""
Sending our events: signed (Standard Webhooks), at least once, in order per subject, by as many processes as there are.

What is due is in the database, and so is who is at work on it: a process that dies in the middle loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import httpx
from standardwebhooks.webhooks import Webhook

from counterfoil import outgoing
from counterfoil.outgoing import Attempt
from counterfoil.procedure import AsyncDatabase
from counterfoil.service.addresses import NotPublic, PublicOnly, Unresolved
from counterfoil.service.resources import EventOut
from counterfoil.service.state import State

log = logging.getLogger(__name__)

#: Seconds for one attempt, all in all; well inside the lease.
DEADLINE = 15.0
#: Seconds that attempts which are under way get when the service ends. What is cut off is sent again after its lease.
GRACE = 5.0
#: Attempts to one endpoint at the same time, of one process.
AT_ONCE = 8


def new_secret() -> str:
    """A fresh secret to sign with, in the form of Standard Webhooks."""
    return "whsec_" + b64encode(secrets.token_bytes(32)).decode()


class Sender:
    """
    Sends what is due.

    Args:
        database: Where the events are.
        livemode: What they say of themselves: one database is of one Stripe mode.
        private: Plain http and private addresses are sent to as well.
        saw: Told how each attempt ended: ``delivered``, ``failed`` or ``given_up``.
    """

    def __init__(
        self,
        database: AsyncDatabase,
        *,
        livemode: bool,
        private: bool,
        saw: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._database = database
        self._livemode = livemode
        self._saw = saw
        # Without a limit to share, so that endpoints which hang leave connections to those that do not.
        direct = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=None, max_keepalive_connections=0))
        # Neither a proxy of the environment's nor a redirect is followed: both would connect elsewhere.
        self._client = httpx.AsyncClient(
            transport=direct if private else PublicOnly(direct),
            timeout=httpx.Timeout(10.0, connect=5.0),
            trust_env=False,
            headers={"User-Agent": "Counterfoil", "Content-Type": "application/json"},
        )
        self._ending = False

    async def send_due(self) -> None:
        """Send until nothing is due: to each endpoint on its own, so that a slow one holds up no other."""
        endpoints = await self._database.run(outgoing.due())
        await asyncio.gather(*map(self._send_to, endpoints))

    async def keep_sending(self, interval: float) -> None:
        """Look every *interval* seconds what is due, and send it, until this is cancelled."""
        at_work: dict[int, asyncio.Task[None]] = {}
        try:
            while True:
                at_work = {endpoint: task for endpoint, task in at_work.items() if not task.done()}
                try:
                    for endpoint in await self._database.run(outgoing.due()):
                        if endpoint not in at_work:
                            at_work[endpoint] = asyncio.create_task(self._send_safely(endpoint))
                except Exception:  # whatever it is, what is due stays due
                    log.exception("what is due cannot be read now")
                await asyncio.sleep(interval)
        finally:
            self._ending = True
            for task in at_work.values():
                asyncio.get_running_loop().call_later(GRACE, task.cancel)
            await asyncio.gather(*at_work.values(), return_exceptions=True)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _send_safely(self, endpoint: int) -> None:
        try:
            await self._send_to(endpoint)
        except Exception:  # whatever it is, what is due stays due
            log.exception("sending to endpoint %d was interrupted", endpoint)

    async def _send_to(self, endpoint: int) -> None:
        while not self._ending:
            attempts = await self._database.run(outgoing.claim(endpoint=endpoint, most=AT_ONCE))
            if not attempts:
                return
            await asyncio.gather(*map(self._attempt, attempts))

    async def _attempt(self, attempt: Attempt) -> None:
        status, error = await self._deliver(attempt)
        given_up = await self._database.run(outgoing.close(attempt=attempt, status=status, error=error))
        self._saw("delivered" if error is None else "given_up" if given_up else "failed")
        if error is not None:
            log.warning(
                "event %s to endpoint %d, attempt %d: %s%s",
                attempt.event.id, attempt.endpoint, attempt.number, error, ", given up" if given_up else "",
            )  # fmt: skip

    async def _deliver(self, attempt: Attempt) -> tuple[int | None, str | None]:
        """The status of the answer, and what went wrong: None if nothing did."""
        try:
            body = EventOut.of(attempt.event, livemode=self._livemode).model_dump_json()
            async with (
                asyncio.timeout(DEADLINE),
                # Nobody reads the answer's body: the receiver says all there is to say by its status.
                self._client.stream(
                    "POST", attempt.url, content=body.encode(), headers=_signature(attempt, body)
                ) as answer,
            ):
                return answer.status_code, None if answer.is_success else answer.reason_phrase or "no success"
        except TimeoutError:
            return None, f"no answer within {DEADLINE:.0f} s"
        except (httpx.HTTPError, NotPublic, Unresolved) as failure:
            return None, f"{type(failure).__name__}: {failure}"[:200]
        except Exception as failure:  # what cannot be sent is given up like all else, and never tried for ever
            log.exception("event %s cannot be sent", attempt.event.id)
            return None, type(failure).__name__


def _signature(attempt: Attempt, body: str) -> dict[str, str]:
    # The time of this machine, not the database's, which a demo moves: the receiver compares it with its own.
    moment = datetime.now(UTC)
    return {
        "webhook-id": attempt.event.id,
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": Webhook(attempt.secret).sign(attempt.event.id, moment, body),
    }


@asynccontextmanager
async def sending(state: State) -> AsyncIterator[None]:
    """Send events while the block runs; never, if COUNTERFOIL_WEBHOOK_INTERVAL is 0."""
    if not state.settings.webhook_interval:
        yield
        return
    sender = Sender(
        state.database,
        livemode=state.shop.livemode,
        private=state.settings.webhook_private == "on",
        saw=lambda result: state.metrics.deliveries.labels(result).inc(),
    )
    task = asyncio.create_task(sender.keep_sending(state.settings.webhook_interval.total_seconds()))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await sender.close()
