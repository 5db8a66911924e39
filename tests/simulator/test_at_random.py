"""Thousands of calls and clock moves, drawn by a seed: the books add up, and the run can be had again."""

import random
from collections import Counter
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from tests.support.serving import body_of, in_thread

from counterfoil.listening import listen
from counterfoil.simulator import create_app
from counterfoil.simulator.account import Account

CARDS = ["4242424242424242"] * 6 + [
    "4000000000007726", "4000000000005126", "4000000000000259", "4000002760003184", "4000000000000002",
]  # fmt: skip
PAID = ("paid", "no_payment_required")


class Run:
    """One run: what is drawn, what was answered, and the books."""

    def __init__(self, client: httpx.AsyncClient, account: Account, seed: int) -> None:
        self.client, self.account, self.engine = client, account, account.engine
        self.lots = random.Random(seed)
        self.said: list[str] = []
        self.ids: dict[str, list[str]] = {"sessions": [], "coupons": []}

    async def step(self) -> None:
        """One call, or one move of the clock."""
        what = self.lots.choices(
            [self.create, self.pay, self.challenge, self.expire, self.refund, self.evidence, self.move, self.look],
            [30, 30, 6, 8, 8, 3, 3, 6],
        )[0]
        self.said.append(f"{what.__name__} {await what()}")

    async def api(self, path: str, **given: Any) -> int:
        """POST to the API."""
        answer = await self.client.post(path, content=urlencode(given))
        assert answer.status_code < 500, answer.text
        return answer.status_code

    async def control(self, path: str, **given: Any) -> int:
        """POST to the controls."""
        answer = await self.client.post(f"/_simulator/{path}", json=given)
        assert answer.status_code < 500, answer.text
        return answer.status_code

    def any_session(self) -> str:
        """The id of a session, an old one or a new one."""
        sessions = list(self.engine.sessions)
        return self.lots.choice(sessions[-20:]) if sessions else "cs_none"

    async def create(self) -> int:
        if self.lots.random() < 0.05:
            most = self.lots.choice([{}, {"max_redemptions": self.lots.randrange(1, 4)}])
            return await self.api("/v1/coupons", percent_off=self.lots.choice([10, 33.33, 100]), **most)
        given: dict[str, Any] = {
            "mode": "payment",
            "success_url": "http://127.0.0.1/",
            "line_items[0][price_data][currency]": self.lots.choice(["gbp", "eur", "jpy"]),
            "line_items[0][price_data][unit_amount]": self.lots.choice([0, 10, 500, 999, 12_345]),
            "line_items[0][price_data][product_data][name]": "Mug",
            "line_items[0][quantity]": self.lots.randrange(1, 4),
        }
        if self.lots.random() < 0.7:
            given["expires_at"] = self.engine.clock.stamp() + self.lots.randrange(28, 120) * 60
        if self.engine.coupons and self.lots.random() < 0.3:
            given["discounts[0][coupon]"] = self.lots.choice(list(self.engine.coupons))
        return await self.api("/v1/checkout/sessions", **given)

    async def pay(self) -> int:
        if self.lots.random() < 0.15:
            ending = self.lots.choice(["succeeded", "failed"])
            return await self.control(f"sessions/{self.any_session()}/pay", method="bacs_debit", ending=ending)
        return await self.control(f"sessions/{self.any_session()}/pay", card=self.lots.choice(CARDS))

    async def challenge(self) -> int:
        return await self.control(f"sessions/{self.any_session()}/challenge", approve=self.lots.random() < 0.6)

    async def expire(self) -> int:
        return await self.api(f"/v1/checkout/sessions/{self.any_session()}/expire")

    async def refund(self) -> int:
        charges = list(self.engine.charges)
        if not charges:
            return 0
        part = {"amount": self.lots.randrange(1, 2000)} if self.lots.random() < 0.6 else {}
        return await self.api("/v1/refunds", charge=self.lots.choice(charges[-20:]), **part)

    async def evidence(self) -> int:
        disputes = list(self.engine.disputes)
        if not disputes:
            return 0
        text = self.lots.choice(["winning_evidence", "losing_evidence", "something"])
        return await self.api(f"/v1/disputes/{self.lots.choice(disputes)}", **{"evidence[uncategorized_text]": text})

    async def move(self) -> str:
        by = timedelta(minutes=self.lots.choice([1, 10, 31, 120, 60 * 24]))
        await self.account.advance(by)
        return str(by)

    async def look(self) -> int:
        limit, status = self.lots.randrange(1, 100), self.lots.choice(["open", "complete", "expired"])
        answer = await self.client.get(f"/v1/checkout/sessions?limit={limit}&status={status}")
        found = answer.json()["data"]
        assert all(one["status"] == status for one in found)
        return len(found)

    def books(self) -> None:
        """Money adds up, a session has one end, and everything that happened was told."""
        engine = self.engine
        told = Counter((event["type"], event["data"]["object"]["id"]) for event in engine.events.values())
        used: Counter[str] = Counter()
        for session in engine.sessions.values():
            intent = engine.intents.get(session["payment_intent"] or "")
            charges = [one for one in engine.charges.values() if intent and one["payment_intent"] == intent["id"]]
            taken = [one["amount"] for one in charges if one["paid"]]
            paid = session["status"] == "complete" and session["payment_status"] == "paid"
            assert taken == ([session["amount_total"]] if paid else []), session
            assert session["amount_total"] == session["amount_subtotal"] - session["total_details"]["amount_discount"]
            ends = [told[f"checkout.session.{end}", session["id"]] for end in ("completed", "expired")]
            assert ends == [int(session["status"] == end) for end in ("complete", "expired")], session
            assert (session["url"] is None) is (session["status"] != "open")
            if session["status"] == "complete":
                used.update(entry["coupon"] for entry in session["discounts"])
        for charge in engine.charges.values():
            given_back = sum(
                one["amount"]
                for one in engine.refunds.values()
                if one["charge"] == charge["id"] and one["status"] != "failed"
            )
            assert charge["amount_refunded"] == given_back <= charge["amount"]
            assert charge["refunded"] is (given_back == charge["amount"] and charge["paid"])
        for coupon in engine.coupons.values():
            assert coupon["times_redeemed"] == used[coupon["id"]] <= (coupon["max_redemptions"] or 10**9)
        for refund in engine.refunds.values():
            assert told["refund.created", refund["id"]] == 1
            assert told["refund.failed", refund["id"]] == int(refund["status"] == "failed")


class Unreliable:
    """An endpoint that answers one event in three with an error."""

    def __init__(self, seed: int) -> None:
        self.lots = random.Random(seed)
        self.heard: set[str] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = await body_of(receive)
        good = self.lots.random() > 0.33
        if good:
            self.heard.add(body[7:35].decode())
        await send({"type": "http.response.start", "status": 200 if good else 500, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def run(seed: int, calls: int, webhook_url: str | None = None) -> Run:
    """So many steps, on a clock that stands still but for its moves; the books are looked at all along."""
    app = create_app("http://127.0.0.1", source=lambda: 1_800_000_000.0, webhook_url=webhook_url)
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        headers = {"Authorization": "Bearer sk_test_x"}
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
            one = Run(client, app.state.account, seed)
            for number in range(calls):
                await one.step()
                if number % (calls // 20) == 0:
                    one.books()
            one.books()
            await app.state.account.advance(timedelta(days=30))
            one.books()
            return one


@pytest.mark.parametrize(
    "calls", [1_500, pytest.param(10_000, marks=[pytest.mark.deep, pytest.mark.timeout(1800)])], ids=["short", "long"]
)
async def test_the_books_add_up(calls: int) -> None:
    """And the same seed is the same run, answer by answer."""
    first = await run(7, calls)
    assert {one.split()[0] for one in first.said} == {
        "create", "pay", "challenge", "expire", "refund", "evidence", "move", "look",
    }  # fmt: skip
    assert {session["status"] for session in first.engine.sessions.values()} == {"complete", "expired"}
    again = await run(7, calls)
    assert again.said == first.said


@pytest.mark.parametrize(
    "calls", [300, pytest.param(3_000, marks=[pytest.mark.deep, pytest.mark.timeout(1800)])], ids=["short", "long"]
)
async def test_no_event_is_lost(calls: int) -> None:
    """Each is delivered to an endpoint that often fails, or tried as often as Stripe's sandbox does."""
    with in_thread(Unreliable(3), listen("127.0.0.1"), lifespan="off") as url:
        one = await run(11, calls, f"{url}/hook")
    log = one.account.deliveries.log
    assert {delivery.event["id"] for delivery in log} == set(one.engine.events)
    for delivery in log:
        assert delivery.done or delivery.attempts == [500] * 3, delivery.attempts
    assert sum(not delivery.done for delivery in log) < len(log) / 10
