"""Money that goes back, and comes back, through the whole service: Stripe's events in, our answers out."""

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import psycopg
import pytest
import stripe
from tests.conftest import Clock
from tests.simulator.conftest import client
from tests.support.serving import Service

from counterfoil import verbs
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.simulator import Fault, Running
from counterfoil.simulator import money_back as at_stripe
from counterfoil.simulator.deliveries import Delivery
from counterfoil.simulator.engine import Cause

PENDING_FIRST, FAILS_LATER, DISPUTED = "4000000000007726", "4000000000005126", "4000000000000259"
POLICIES = ("keep", "return", "return_unless_disputed")


@dataclass(frozen=True)
class Seller:
    """A seller before Stripe's dashboard, and a shop whose state is read over its API alone."""

    service: Service
    simulator: Running
    stripe: stripe.StripeClient
    host: Psycopg

    def sold(self, policy: str | None = "keep", card: str = "4242424242424242", cap: int = 1) -> Any:
        """A paid checkout, at a code of this policy; at full price where it is None."""
        self.service.code("SOLD", cap=cap, refund_policy=policy or "keep")
        return self.buy("a@school.test", None if policy is None else "SOLD", card)

    def buy(self, buyer: str, code: str | None = "SOLD", card: str = "4242424242424242") -> Any:
        """A paid checkout."""
        opened = self.service.open(buyer, code)
        self.simulator.pay(opened["session_id"], card)
        sale = self.read(opened)
        assert sale["status"] == "paid"
        return sale

    def refund(self, sale: Any, amount: int | None = None) -> stripe.Refund:
        """Give money back: all that is left, or an amount."""
        wanted: Any = {"payment_intent": sale["payment_intent"]} | ({"amount": amount} if amount else {})
        made = self.stripe.v1.refunds.create(wanted)
        self.simulator.wait_delivered()
        return made

    def refund_in_dispute(self, sale: Any) -> None:
        """What the API refuses and the dashboard allows while a dispute is only an inquiry: all of it."""
        engine = self.simulator.account.engine

        def all_of_it() -> None:
            charge = next(one for one in engine.charges.values() if one["payment_intent"] == sale["payment_intent"])
            at_stripe.refund(engine, charge, charge["amount"], "requested_by_customer", {}, Cause())

        self.simulator.call(all_of_it)
        self.simulator.wait_delivered()

    def decide(self, evidence: str) -> None:
        """Answer the only dispute; Stripe's test evidence decides it."""
        dispute = self.stripe.v1.disputes.list().data[0]
        self.stripe.v1.disputes.update(dispute.id, {"evidence": {"uncategorized_text": evidence}})
        self.simulator.wait_delivered()

    def read(self, sale: Any) -> Any:
        """The checkout as it is now. Counters and rows agree at every reading."""
        assert self.host.run(verbs.recount()) == []
        return self.service.get(f"/v1/checkouts/{sale['id']}")

    def states(self, sale: Any) -> tuple[str, str | None]:
        """Its status, and its redemption's."""
        found = self.read(sale)
        return found["status"], found["redemption"] and found["redemption"]["status"]

    def has(self, buyer: str = "a@school.test") -> list[str]:
        """What is open to a buyer."""
        return [one["unlock"] for one in self.service.get("/v1/entitlements", buyer=buyer)["data"]]

    def usage(self) -> Any:
        """How full the code is."""
        return self.service.get("/v1/codes/SOLD/usage")

    def matters(self, kind: str) -> list[Any]:
        """What is open of a kind in what needs attention."""
        found: list[Any] = self.service.get("/v1/attention", kind=kind, resolved="false")["data"]
        return found


@pytest.fixture
def seller(service: Service, simulator: Running, host: Psycopg) -> Seller:
    return Seller(service, simulator, client(simulator.base_url), host)


class TestRefunds:
    @pytest.mark.parametrize("policy", POLICIES)
    def test_in_full(self, seller: Seller, policy: str) -> None:
        sale = seller.sold(policy)
        assert seller.has() == ["hub"]
        seller.refund(sale)
        kept = policy == "keep"
        assert seller.states(sale) == ("refunded", "completed" if kept else "refunded")
        assert seller.has() == []
        assert (seller.usage()["completed"], seller.usage()["remaining"]) == ((1, 0) if kept else (0, 1))

    @pytest.mark.parametrize("policy", POLICIES)
    def test_in_parts(self, seller: Seller, policy: str) -> None:
        """A part changes nothing; the last part is the whole."""
        sale = seller.sold(policy)
        seller.refund(sale, 400)
        seller.refund(sale, 599)
        assert seller.states(sale) == ("paid", "completed")
        assert seller.has() == ["hub"]
        seller.refund(sale, 1)
        assert seller.states(sale) == ("refunded", "completed" if policy == "keep" else "refunded")
        assert seller.has() == []

    def test_at_full_price(self, seller: Seller) -> None:
        sale = seller.sold(None)
        seller.refund(sale, 1999)
        assert (seller.states(sale), seller.has()) == (("paid", None), ["hub"])
        seller.refund(sale)
        assert (seller.states(sale), seller.has()) == (("refunded", None), [])

    def test_that_is_pending_first(self, seller: Seller, clock: Clock) -> None:
        """The money has left the seller's balance: it counts from the start."""
        sale = seller.sold("return", PENDING_FIRST)
        assert seller.refund(sale).status == "pending"
        assert seller.states(sale) == ("refunded", "refunded")
        clock.advance(days=6)
        assert seller.states(sale) == ("refunded", "refunded")
        assert seller.usage()["remaining"] == 1

    @pytest.mark.parametrize("policy", [*POLICIES, None])
    def test_that_fails_later(self, seller: Seller, clock: Clock, policy: str | None) -> None:
        """The sale stands again, with its place and what it unlocks."""
        sale = seller.sold(policy, FAILS_LATER)
        seller.refund(sale)
        assert (seller.read(sale)["status"], seller.has()) == ("refunded", [])
        clock.advance(days=6)
        assert seller.states(sale) == ("paid", policy and "completed")
        assert seller.has() == ["hub"]
        if policy:
            assert (seller.usage()["completed"], seller.usage()["over"]) == (1, 0)
            assert seller.read(sale)["redemption"]["over_cap"] is False

    def test_that_fails_when_somebody_else_has_the_place(self, seller: Seller, clock: Clock) -> None:
        sale = seller.sold("return", FAILS_LATER)
        seller.refund(sale)
        seller.buy("b@school.test")
        clock.advance(days=6)
        assert seller.states(sale) == ("paid", "completed")
        assert seller.read(sale)["redemption"]["over_cap"] is True
        assert (seller.usage()["over"], seller.usage()["remaining"]) == (1, 0)
        matters = seller.matters("over-cap")
        assert [one["subject"] for one in matters] == [sale["redemption"]["id"]]
        assert "2 places" in matters[0]["sentence"]
        seller.service.open("c@school.test", "SOLD", status=409)
        # A second refund, that does not fail: what was over the cap shrinks with it, and nobody gets in for it.
        seller.refund_in_dispute(sale)
        assert seller.states(sale) == ("refunded", "refunded")
        assert (seller.usage()["over"], seller.usage()["remaining"]) == (0, 0)

    @pytest.mark.parametrize(("policy", "status"), [("keep", 409), ("return", 201)])
    def test_the_buyers_own_limit(self, seller: Seller, policy: str, status: int) -> None:
        """Free again where the place is; where it is not, the buyer has used it."""
        seller.refund(seller.sold(policy, cap=2))
        again = seller.service.open("a@school.test", "SOLD", status=status)
        assert again.get("code") == ("buyer-limit-reached" if status == 409 else None)

    def test_bought_again_after_it(self, seller: Seller) -> None:
        """The older purchase's refund, heard once more, takes nothing from the newer one."""
        first = seller.sold("return", cap=2)
        seller.refund(first)
        second = seller.buy("a@school.test")
        for event in seller.simulator.events():
            seller.simulator.resend(event["id"])
        assert (seller.states(first), seller.states(second)) == (("refunded", "refunded"), ("paid", "completed"))
        assert (seller.has(), seller.usage()["completed"]) == (["hub"], 1)

    def test_of_a_second_payment_for_the_same(self, seller: Seller, connection: psycopg.Connection[Any]) -> None:
        """Two pages of one row were paid. The refund of the one that does not count revokes nothing."""
        sale = seller.sold("return", cap=2)
        simulator = seller.simulator
        own = simulator.session(sale["session_id"])
        stray = seller.stripe.v1.checkout.sessions.create(
            {
                "mode": "payment",
                "line_items": [
                    {
                        "quantity": 1,
                        "price_data": {"currency": "gbp", "unit_amount": 1000, "product_data": {"name": "hub"}},
                    }
                ],
                "success_url": "http://127.0.0.1/ok",
                "metadata": own["metadata"],
                "payment_intent_data": {"metadata": own["metadata"]},
            }
        )
        connection.execute("UPDATE counterfoil.redemption SET former_sessions = ARRAY[%s]", (stray.id,))
        simulator.pay(stray.id)
        twice = seller.matters("paid-twice")
        assert [(one["subject"], one["detail"]["checkout"]) for one in twice] == [(stray.id, sale["id"])]
        seller.refund({"payment_intent": simulator.session(stray.id)["payment_intent"]})
        assert (seller.states(sale), seller.has()) == (("paid", "completed"), ["hub"])
        # The one that counts does.
        seller.refund(sale)
        assert (seller.states(sale), seller.has()) == (("refunded", "refunded"), [])

    def test_of_what_is_none_of_ours(self, seller: Seller) -> None:
        foreign = seller.stripe.v1.checkout.sessions.create(
            {
                "mode": "payment",
                "line_items": [
                    {
                        "quantity": 1,
                        "price_data": {"currency": "gbp", "unit_amount": 1000, "product_data": {"name": "x"}},
                    }
                ],
                "success_url": "http://127.0.0.1/ok",
            }
        )
        seller.simulator.pay(foreign.id)
        seller.refund({"payment_intent": seller.simulator.session(foreign.id)["payment_intent"]})
        assert all(delivery.done for delivery in seller.simulator.deliveries())
        assert seller.service.get("/v1/attention")["data"] == []


class TestEvents:
    @pytest.mark.parametrize("order", sorted(set(permutations(range(4)))), ids=str)
    def test_in_any_order(self, seller: Seller, order: tuple[int, ...]) -> None:
        """Of a payment and its refund, all held back and then let go; each twice, and once under another id."""
        seller.service.code("SOLD", cap=1, refund_policy="return")
        opened = seller.service.open("a@school.test", "SOLD")
        simulator = seller.simulator
        simulator.hold_events()
        paid = simulator.pay(opened["session_id"])
        seller.refund(paid)
        ours = ("checkout.session.completed", "refund.created", "charge.refunded")
        completed = next(one for one in simulator.events() if one["type"] == ours[0])
        simulator.call(lambda: simulator.account.deliveries.twin(completed["id"]))

        def arranged(waiting: list[Delivery]) -> list[Delivery]:
            heard = [one for one in waiting if one.event["type"] in ours]
            assert len(heard) == 4
            return [heard[index] for index in order] * 2

        simulator.release_events(arranged)
        assert seller.states(opened) == ("refunded", "refunded")
        assert (seller.has(), seller.usage()["remaining"]) == ([], 1)
        for event in simulator.events():
            simulator.resend(event["id"])
        assert seller.states(opened) == ("refunded", "refunded")
        assert seller.usage()["remaining"] == 1

    @pytest.mark.parametrize("backwards", [False, True])
    def test_of_a_refund_that_failed(self, seller: Seller, clock: Clock, backwards: bool) -> None:
        """Heard only days later, from either end: what Stripe says now is what counts."""
        sale = seller.sold("return", FAILS_LATER)
        seller.simulator.hold_events()
        seller.refund(sale)
        clock.advance(days=6)
        seller.simulator.release_events(lambda waiting: waiting[::-1] if backwards else waiting)
        assert (seller.states(sale), seller.has()) == (("paid", "completed"), ["hub"])
        assert seller.usage()["completed"] == 1

    def test_that_stripe_cannot_explain_now_come_again(self, seller: Seller, clock: Clock) -> None:
        sale = seller.sold("return")
        seller.simulator.fail_next(Fault("refuse", "GET", "/v1/checkout/sessions", times=0, status=500))
        seller.refund(sale)
        assert seller.states(sale) == ("paid", "completed")
        seller.simulator.call(seller.simulator.account.faults.clear)
        clock.advance(hours=1)
        assert seller.states(sale) == ("refunded", "refunded")

    def test_that_never_come_are_found_by_asking(self, seller: Seller) -> None:
        sale = seller.sold("return")
        seller.simulator.drop_events(99)
        seller.refund(sale)
        assert seller.states(sale) == ("paid", "completed")
        refreshed = seller.service.post(f"/v1/checkouts/{sale['id']}/refresh", status=200)
        assert (refreshed["status"], refreshed["redemption"]["status"]) == ("refunded", "refunded")

    @pytest.mark.parametrize("policy", POLICIES)
    def test_thin_ones(self, _service: Service, simulator: Running, host: Psycopg, database: str, policy: str) -> None:
        """They do not say whose payment it was: Stripe is asked."""
        simulator.add_endpoint(f"{_service.url}/webhooks/stripe", shape="thin")
        seller = Seller(_service, simulator, client(simulator.base_url), host)
        sale = seller.sold(policy, DISPUTED)
        assert len(seller.matters("dispute")) == 1
        seller.decide("losing_evidence")
        assert seller.states(sale) == ("refunded", "refunded" if policy == "return" else "completed")


class TestDisputes:
    @pytest.mark.parametrize("policy", [*POLICIES, None])
    def test_won(self, seller: Seller, policy: str | None) -> None:
        """Nothing changes, and nothing is left to look at."""
        sale = seller.sold(policy, DISPUTED)
        assert (seller.states(sale), seller.has()) == (("paid", policy and "completed"), ["hub"])
        matters = seller.matters("dispute")
        assert [(one["subject"], one["detail"]["checkout"]) for one in matters] == [
            (sale["payment_intent"], sale["id"])
        ]
        seller.decide("winning_evidence")
        assert (seller.states(sale), seller.has()) == (("paid", policy and "completed"), ["hub"])
        assert seller.matters("dispute") == []
        told = seller.service.get("/v1/attention", kind="dispute")["data"]
        assert list(told[0]["detail"]["disputes"].values()) == ["won"]

    @pytest.mark.parametrize("policy", [*POLICIES, None])
    def test_lost(self, seller: Seller, policy: str | None) -> None:
        """The money is gone, and so is what was bought; the place goes back only where any refund returns it."""
        sale = seller.sold(policy, DISPUTED)
        seller.decide("losing_evidence")
        assert seller.states(sale) == ("refunded", policy and ("refunded" if policy == "return" else "completed"))
        assert seller.has() == []
        assert list(seller.matters("dispute")[0]["detail"]["disputes"].values()) == ["lost"]

    @pytest.mark.parametrize("policy", POLICIES)
    def test_headed_off_by_a_refund(self, seller: Seller, policy: str) -> None:
        """`return_unless_disputed` returns no place then: it would be a way to buy twice with one place."""
        sale = seller.sold(policy, DISPUTED)
        seller.refund_in_dispute(sale)
        assert seller.states(sale) == ("refunded", "refunded" if policy == "return" else "completed")
        assert seller.has() == []

    def test_won_and_refunded_all_the_same(self, seller: Seller) -> None:
        """No dispute is headed off any more."""
        sale = seller.sold("return_unless_disputed", DISPUTED)
        seller.decide("winning_evidence")
        seller.refund(sale)
        assert seller.states(sale) == ("refunded", "refunded")

    def test_a_part_refunded_and_the_rest_lost(self, seller: Seller) -> None:
        """Together it is the whole."""
        sale = seller.sold("keep", DISPUTED)
        engine = seller.simulator.account.engine

        def a_part() -> None:
            charge = next(one for one in engine.charges.values() if one["payment_intent"] == sale["payment_intent"])
            dispute = next(iter(engine.disputes.values()))
            dispute["amount"] = 600
            at_stripe.refund(engine, charge, 400, "requested_by_customer", {}, Cause())

        seller.simulator.call(a_part)
        seller.simulator.wait_delivered()
        assert seller.states(sale) == ("paid", "completed")
        seller.decide("losing_evidence")
        assert seller.states(sale) == ("refunded", "completed")

    def test_in_any_order_and_doubled(self, seller: Seller) -> None:
        seller.service.code("SOLD", cap=1, refund_policy="return")
        opened = seller.service.open("a@school.test", "SOLD")
        simulator = seller.simulator
        simulator.hold_events()
        simulator.pay(opened["session_id"], DISPUTED)
        seller.decide("losing_evidence")
        simulator.release_events(lambda waiting: waiting[::-1] * 2)
        assert (seller.states(opened), seller.has()) == (("refunded", "refunded"), [])
        assert len(seller.service.get("/v1/attention")["data"]) == 1
        assert seller.usage()["remaining"] == 1
