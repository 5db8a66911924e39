"""
The storm itself: real services, a real database, the simulator, and every answer counted.

One round: all buyers ask at once; half of those let in pay, the others walk away; the clock moves past their holds;
as many new buyers ask again. In every other round no event of an ended session arrives, so that Stripe must be asked.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import httpx
import psycopg

from counterfoil import movable_clock
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.listening import listen
from counterfoil.simulator import Running
from counterfoil.verbs import recount

#: How often a buyer who is told *busy* asks again.
PATIENCE = 30
#: Past a hold's end.
LAPSE = timedelta(minutes=41)


@dataclass
class Tally:
    """
    What a storm saw, summed over its rounds.

    Attributes:
        admitted: Buyers who got a payment page when all asked at once.
        let_again: Buyers who got one of the places that had lapsed.
        refused: Buyers who were told, truly, that no place is free.
        busy: Buyers who were told *busy* to the end of their patience.
        errors: Any other answer.
        oversold: Places given above the cap.
        leaked: Places that were free, and that nobody could get.
    """

    rounds: int = 0
    admitted: int = 0
    let_again: int = 0
    refused: int = 0
    busy: int = 0
    paid: int = 0
    oversold: int = 0
    leaked: int = 0
    errors: list[str] = field(default_factory=list)

    @property
    def fine(self) -> bool:
        """No invariant broke, and everybody got a true answer."""
        return not (self.oversold or self.leaked or self.errors or self.busy)


@dataclass(frozen=True)
class Storm:
    """What a storm needs: services on one database and schema, the simulator, and a connection to look with."""

    services: list[str]
    admin_key: str
    simulator: Running
    connection: psycopg.Connection[Any]
    schema: str

    async def round(self, number: int, buyers: int, places: int, tally: Tally, done: Callable[[], None]) -> None:
        """One round; *done* is called after each buyer's answer."""
        headers = {"Authorization": f"Bearer {self.admin_key}"}
        limits = httpx.Limits(max_connections=buyers + 10)
        async with httpx.AsyncClient(headers=headers, timeout=60, limits=limits, trust_env=False) as client:
            code = await self._code(client, number, places)

            first = await self._ask_all(client, code, [f"buyer-{number}-{one}" for one in range(buyers)], tally, done)
            tally.rounds += 1
            tally.admitted += len(first)
            self._look(code, places, tally)
            tally.leaked += max(0, min(places, buyers) - len(first))

            if number % 2:
                self.simulator.call(lambda: setattr(self.simulator.account.deliveries, "drop", 1_000_000))
            paying = first[: (len(first) + 1) // 2] if places > 1 else []
            self._pay(paying)
            movable_clock.set_ahead(self.connection, self.simulator.account.engine.clock.ahead + LAPSE, self.schema)
            await asyncio.to_thread(self.simulator.advance, LAPSE)
            self.simulator.call(lambda: setattr(self.simulator.account.deliveries, "drop", 0))

            again = await self._ask_all(client, code, [f"late-{number}-{one}" for one in range(buyers)], tally, done)
            tally.let_again += len(again)
            self._look(code, places, tally)
            tally.leaked += max(0, min(places - len(paying), buyers) - len(again))

            self._pay(again)
            await asyncio.to_thread(self.simulator.wait_delivered)
            completed = self._count(code, "r.status = 'completed'")
            tally.paid += completed
            if completed != len(paying) + len(again):
                tally.errors.append(f"{len(paying) + len(again)} paid, {completed} completed")
            drift: list[str] = Psycopg(self.connection, self.schema).run(recount())
            tally.errors += drift

    def _pay(self, sessions: list[str]) -> None:
        for session in sessions:
            self.simulator.call(partial(self.simulator.account.engine.pay, session))

    async def _code(self, client: httpx.AsyncClient, number: int, places: int) -> str:
        code = f"STORM-{number}"
        service = self.services[0]
        school = {"name": f"Storm {number}", "time_zone": "Europe/London"}
        (await client.post(f"{service}/v1/institutions", json=school)).raise_for_status()
        body = {"institution": f"storm-{number}", "code": code, "cap": places, "discount": {"percent": 50}}
        (await client.post(f"{service}/v1/codes", json=body)).raise_for_status()
        return code

    async def _ask_all(
        self, client: httpx.AsyncClient, code: str, buyers: list[str], tally: Tally, done: Callable[[], None]
    ) -> list[str]:
        """All at once: the sessions of those who were let in."""
        sessions: list[str] = []

        async def ask(index: int, buyer: str) -> None:
            service = self.services[index % len(self.services)]
            body = {
                "name": "Practice hub", "amount": 2000, "currency": "gbp", "code": code, "buyer": buyer,
                "success_url": f"{service}/", "cancel_url": f"{service}/",
            }  # fmt: skip
            answer = await client.post(f"{service}/v1/checkouts", json=body)
            for _ in range(PATIENCE):
                if answer.status_code != 503:
                    break
                await asyncio.sleep(0.05)
                answer = await client.post(f"{service}/v1/checkouts", json=body)
            problem = answer.json().get("code") if answer.status_code >= 400 else None
            if answer.status_code in (200, 201):
                sessions.append(answer.json()["session_id"])
            elif problem in ("allocation-spent", "allocation-held"):
                tally.refused += 1
            elif problem == "busy":
                tally.busy += 1
            else:
                tally.errors.append(f"{answer.status_code}: {answer.text[:200]}")
            done()

        await asyncio.gather(*(ask(index, buyer) for index, buyer in enumerate(buyers)))
        return sessions

    def _look(self, code: str, places: int, tally: Tally) -> None:
        occupied = self._count(
            code,
            f"r.status IN ('pending', 'completed') OR (r.status = 'reserved' AND r.expires_at > {self.schema}.clock())",
        )
        tally.oversold += max(0, occupied - places)

    def _count(self, code: str, condition: str) -> int:
        query = (
            f"SELECT count(*) FROM {self.schema}.redemption AS r JOIN {self.schema}.code AS c ON c.id = r.code_id "
            f"WHERE c.code = %s AND ({condition})"
        )
        row = self.connection.execute(query.encode(), (code,)).fetchone()
        return int(row[0]) if row else 0


@contextmanager
def services(number: int, database_url: str, schema: str, simulator: Running) -> Iterator[tuple[list[str], str]]:
    """Run so many service processes on one database; their addresses, and the key to call them with."""
    admin_key = secrets.token_urlsafe(32)
    with ExitStack() as stack:
        addresses = []
        for _ in range(number):
            listening = stack.enter_context(listen("127.0.0.1"))
            address = f"http://127.0.0.1:{listening.getsockname()[1]}"
            environment = os.environ | {
                "COUNTERFOIL_DATABASE_URL": database_url,
                "COUNTERFOIL_DATABASE_SCHEMA": schema,
                "COUNTERFOIL_PUBLIC_URL": address,
                "COUNTERFOIL_SECRET_KEY": admin_key,
                "COUNTERFOIL_ADMIN_KEY": admin_key,
                "STRIPE_SECRET_KEY": "sk_test_storm",
                "STRIPE_WEBHOOK_SECRET": simulator.secret,
                "STRIPE_API_BASE": simulator.base_url,
                "COUNTERFOIL_LOG": "text",
            }
            process = subprocess.Popen(
                [sys.executable, "-m", "counterfoil", "serve", "--socket-fd", str(listening.fileno())],
                stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=[listening.fileno()], env=environment,
            )  # fmt: skip
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)
            addresses.append(address)
        for address in addresses:
            # The socket listens already: this waits until the process answers.
            httpx.get(f"{address}/readyz", timeout=60, trust_env=False).raise_for_status()
        # Each knows of what its own sessions do; any of them may settle the others'.
        simulator.add_endpoint(f"{addresses[0]}/webhooks/stripe")
        yield addresses, admin_key
