"""Payments that take days: complete and unpaid, until Stripe says paid or failed, by event or when it is asked."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.conftest import Clock
from tests.service.test_the_door import refused
from tests.support.admin import numbers_of, text_of
from tests.support.serving import Service, serving

from counterfoil import embedded, verbs
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.simulator import Fault, Running


@pytest.fixture(scope="module")
def _delayed(server: embedded.Server, _simulator: Running) -> Iterator[Service]:
    with serving(server.url, _simulator, COUNTERFOIL_PAYMENT_METHODS="card, bacs_debit") as service:
        yield service


@pytest.fixture
def shop(_delayed: Service, database: str, simulator: Running, host: Psycopg) -> Iterator[Service]:
    """A service that takes bank debits too, with a code for one. Afterwards, counters and rows agree."""
    simulator.add_endpoint(f"{_delayed.url}/webhooks/stripe")
    _delayed.code(cap=1)
    yield _delayed
    assert host.run(verbs.recount()) == []


@pytest.fixture
def slow(simulator: Running) -> Iterator[None]:
    """A bank that takes longer than any deadline."""
    engine = simulator.account.engine
    before = engine.delayed_for
    simulator.call(lambda: setattr(engine, "delayed_for", timedelta(days=90)))
    yield
    simulator.call(lambda: setattr(engine, "delayed_for", before))


def paying(shop: Service, simulator: Running, ending: Any = "succeeded", code: str | None = "NORTH-26") -> Any:
    """A checkout whose bank debit is under way."""
    opened = shop.open("a@school.test", code)
    simulator.pay_delayed(opened["session_id"], ending)
    return read(shop, opened)


def read(shop: Service, sale: Any) -> Any:
    return shop.get(f"/v1/checkouts/{sale['id']}")


def states(sale: Any) -> tuple[str, str | None]:
    return sale["status"], sale["redemption"] and sale["redemption"]["status"]


def usage(shop: Service) -> tuple[int, int, int]:
    found = shop.get("/v1/codes/NORTH-26/usage")
    return found["pending"], found["completed"], found["remaining"]


def unlocked(shop: Service) -> list[str]:
    return [one["unlock"] for one in shop.get("/v1/entitlements", buyer="a@school.test")["data"]]


def fails_unheard(simulator: Running, sale: Any) -> None:
    """The bank says no, and Stripe's event of it is lost."""
    simulator.drop_events(99)
    simulator.call(lambda: simulator.account.engine.end_delayed(sale["session_id"], "failed"))
    simulator.wait_delivered()
    simulator.drop_events(0)


class TestTheSetting:
    def test_cards_alone_unless_it_opens_others(self, service: Service, simulator: Running) -> None:
        service.code()
        opened = service.open("a@school.test")
        assert simulator.session(opened["session_id"])["payment_method_types"] == ["card"]

    def test_others(self, shop: Service, simulator: Running) -> None:
        for code in ("NORTH-26", None):
            opened = shop.open("a@school.test", code)
            assert simulator.session(opened["session_id"])["payment_method_types"] == ["card", "bacs_debit"]


class TestWhileItIsUnderWay:
    def test_it_keeps_its_place(self, shop: Service, simulator: Running, clock: Clock) -> None:
        sale = paying(shop, simulator)
        assert states(sale) == ("pending", "pending")
        assert (usage(shop), unlocked(shop)) == ((1, 0, 0), [])
        # Long after a hold's time, and its session's, are over.
        clock.advance(days=3)
        assert states(read(shop, sale)) == ("pending", "pending")
        refused(shop.client.post("/v1/checkouts", json=shop.order("b@school.test")), 409, "allocation-spent")

    def test_the_buyer_has_used_the_code(self, shop: Service, simulator: Running) -> None:
        sale = paying(shop, simulator)
        said = refused(shop.client.post("/v1/checkouts", json=shop.order("a@school.test")), 409, "buyer-limit-reached")
        assert said["checkout"] == sale["id"]

    @pytest.mark.parametrize("code", ["NORTH-26", None])
    def test_it_cannot_be_cancelled(self, shop: Service, simulator: Running, code: str | None) -> None:
        sale = paying(shop, simulator, code=code)
        cancelled = shop.post(f"/v1/checkouts/{sale['id']}/cancel", status=200)
        assert states(cancelled) == ("pending", code and "pending")
        if code:
            released = shop.post(f"/v1/redemptions/{sale['redemption']['id']}/release", status=200)
            assert (released["status"], released["already_settled"]) == ("pending", True)

    def test_a_voucher_waits_as_well(self, shop: Service, simulator: Running) -> None:
        """Complete and unpaid, and its payment waits for its buyer: that is no failure."""
        sale = paying(shop, simulator)
        intent = simulator.session(sale["session_id"])["payment_intent"]
        simulator.call(lambda: simulator.account.engine.intents[intent].update(status="requires_action"))
        assert states(shop.post(f"/v1/checkouts/{sale['id']}/refresh", status=200)) == ("pending", "pending")


class TestHowItEnds:
    @pytest.mark.parametrize("code", ["NORTH-26", None])
    def test_it_succeeds(self, shop: Service, simulator: Running, clock: Clock, code: str | None) -> None:
        sale = paying(shop, simulator, code=code)
        clock.advance(days=5)
        after = read(shop, sale)
        assert states(after) == ("paid", code and "completed")
        assert (after["paid_at"] is not None, unlocked(shop)) == (True, ["hub"])
        assert usage(shop) == ((0, 1, 0) if code else (0, 0, 1))

    @pytest.mark.parametrize("code", ["NORTH-26", None])
    def test_it_fails(self, shop: Service, simulator: Running, clock: Clock, code: str | None) -> None:
        sale = paying(shop, simulator, "failed", code)
        clock.advance(days=5)
        after = read(shop, sale)
        assert states(after) == ("failed", code and "released")
        assert not code or after["redemption"]["release_reason"] == "payment_failed"
        assert (usage(shop), unlocked(shop)) == ((0, 0, 1), [])
        # The same buyer may try again.
        assert shop.open("a@school.test", code)["id"] != sale["id"]

    @pytest.mark.parametrize("code", ["NORTH-26", None])
    def test_what_failed_does_not_come_back_to_life(
        self, shop: Service, simulator: Running, clock: Clock, code: str | None
    ) -> None:
        """The event of its completion comes again, later, and says complete and unpaid."""
        sale = paying(shop, simulator, "failed", code)
        clock.advance(days=5)
        intent = simulator.session(sale["session_id"])["payment_intent"]
        completed = next(one for one in simulator.events() if one["type"] == "checkout.session.completed")
        for status in ("requires_payment_method", "processing"):
            simulator.call(lambda status=status: simulator.account.engine.intents[intent].update(status=status))
            simulator.call(lambda: simulator.account.deliveries.twin(completed["id"]))
            simulator.wait_delivered()
            assert states(read(shop, sale)) == ("failed", code and "released")
        assert usage(shop) == (0, 0, 1)

    def test_it_fails_and_is_paid_after_all(self, shop: Service, simulator: Running, clock: Clock) -> None:
        """Money that arrived is honoured, over the cap if need be."""
        sale = paying(shop, simulator, "failed")
        clock.advance(days=5)
        simulator.pay(shop.open("b@school.test")["session_id"])

        def arrives() -> None:
            engine = simulator.account.engine
            engine.intents[engine.sessions[sale["session_id"]]["payment_intent"]]["status"] = "processing"
            engine.end_delayed(sale["session_id"], "succeeded")

        simulator.call(arrives)
        simulator.wait_delivered()
        after = read(shop, sale)
        assert (states(after), after["redemption"]["over_cap"]) == (("paid", "completed"), True)
        assert unlocked(shop) == ["hub"]
        assert [one["subject"] for one in shop.get("/v1/attention", kind="over-cap")["data"]] == [
            sale["redemption"]["id"]
        ]

    @pytest.mark.parametrize("backwards", [False, True])
    @pytest.mark.parametrize("ending", ["succeeded", "failed"])
    def test_all_its_events_at_once(
        self, shop: Service, simulator: Running, clock: Clock, ending: str, backwards: bool
    ) -> None:
        """Held back until it had ended, each heard twice: what the session says now is what counts."""
        opened = shop.open("a@school.test")
        simulator.hold_events()
        simulator.pay_delayed(opened["session_id"], "succeeded" if ending == "succeeded" else "failed")
        clock.advance(days=5)
        simulator.release_events(lambda waiting: (waiting[::-1] if backwards else waiting) * 2)
        paid = ending == "succeeded"
        assert states(read(shop, opened)) == (("paid", "completed") if paid else ("failed", "released"))
        assert usage(shop) == ((0, 1, 0) if paid else (0, 0, 1))


class TestWithoutItsEvent:
    @pytest.mark.parametrize("code", ["NORTH-26", None])
    def test_asking_finds_the_failure(self, shop: Service, simulator: Running, code: str | None) -> None:
        """The session says the same as before; the payment intent tells."""
        sale = paying(shop, simulator, code=code)
        assert states(shop.post(f"/v1/checkouts/{sale['id']}/refresh", status=200)) == ("pending", code and "pending")
        fails_unheard(simulator, sale)
        session = simulator.session(sale["session_id"])
        assert (session["status"], session["payment_status"]) == ("complete", "unpaid")
        assert states(shop.post(f"/v1/checkouts/{sale['id']}/refresh", status=200)) == ("failed", code and "released")
        assert usage(shop) == (0, 0, 1)

    def test_before_its_deadline_nobody_asks(self, shop: Service, simulator: Running, clock: Clock) -> None:
        sale = paying(shop, simulator)
        fails_unheard(simulator, sale)
        clock.advance(days=20)
        refused(shop.client.post("/v1/checkouts", json=shop.order("b@school.test")), 409, "allocation-spent")

    @pytest.mark.usefixtures("slow")
    def test_past_its_deadline_it_is_asked_about_when_its_place_is_wanted(
        self, shop: Service, simulator: Running, clock: Clock
    ) -> None:
        sale = paying(shop, simulator)
        fails_unheard(simulator, sale)
        clock.advance(days=21, minutes=1)
        assert states(read(shop, sale)) == ("pending", "pending")
        assert shop.open("b@school.test")["status"] == "open"
        assert states(read(shop, sale)) == ("failed", "released")

    @pytest.mark.usefixtures("slow")
    def test_or_proves_paid(self, shop: Service, simulator: Running, clock: Clock) -> None:
        sale = paying(shop, simulator)
        simulator.drop_events(99)
        simulator.call(lambda: simulator.account.engine.end_delayed(sale["session_id"], "succeeded"))
        simulator.wait_delivered()
        simulator.drop_events(0)
        clock.advance(days=22)
        refused(shop.client.post("/v1/checkouts", json=shop.order("b@school.test")), 409, "allocation-spent")
        assert states(read(shop, sale)) == ("paid", "completed")
        assert unlocked(shop) == ["hub"]

    @pytest.mark.usefixtures("slow")
    def test_or_cannot_be_asked_about(self, shop: Service, simulator: Running, clock: Clock) -> None:
        """Its place is given to nobody, and nobody is told that all are spent."""
        sale = paying(shop, simulator)
        fails_unheard(simulator, sale)
        clock.advance(days=22)
        simulator.fail_next(Fault("refuse", "*", "/v1/checkout/sessions/*", times=0, status=500))
        refused(shop.client.post("/v1/checkouts", json=shop.order("b@school.test")), 503, "busy")
        assert states(read(shop, sale)) == ("pending", "pending")

    @pytest.mark.usefixtures("slow")
    def test_or_is_still_under_way(self, shop: Service, simulator: Running, clock: Clock) -> None:
        """It keeps its place, has a new deadline, and a person is told: at each deadline anew."""
        sale = paying(shop, simulator)
        first = sale["redemption"]["expires_at"]
        for _ in range(2):
            clock.advance(days=22)
            refused(shop.client.post("/v1/checkouts", json=shop.order("b@school.test")), 409, "allocation-spent")
            after = read(shop, sale)
            assert (states(after), after["redemption"]["expires_at"] > first) == (("pending", "pending"), True)
            first = after["redemption"]["expires_at"]
            matters = shop.get("/v1/attention", resolved="false")["data"]
            assert [(one["kind"], one["subject"]) for one in matters] == [("payment-overdue", sale["redemption"]["id"])]
            assert sale["session_id"] in matters[0]["mend"]
            shop.post(f"/v1/attention/{matters[0]['id']}/resolve", status=200)
            # Before the next deadline it is no news.
            refused(shop.client.post("/v1/checkouts", json=shop.order("b@school.test")), 409, "allocation-spent")
            assert shop.get("/v1/attention", resolved="false")["data"] == []
        assert usage(shop) == (1, 0, 0)

    @pytest.mark.usefixtures("slow")
    @pytest.mark.parametrize(("ending", "status"), [("succeeded", "completed"), ("failed", "released")])
    def test_and_is_no_matter_any_more_when_it_comes_or_fails(
        self, shop: Service, simulator: Running, clock: Clock, ending: Any, status: str
    ) -> None:
        sale = paying(shop, simulator)
        clock.advance(days=22)
        refused(shop.client.post("/v1/checkouts", json=shop.order("b@school.test")), 409, "allocation-spent")
        assert [one["kind"] for one in shop.get("/v1/attention", resolved="false")["data"]] == ["payment-overdue"]
        simulator.call(lambda: simulator.account.engine.end_delayed(sale["session_id"], ending))
        simulator.wait_delivered()
        assert states(read(shop, sale))[1] == status
        assert shop.get("/v1/attention", resolved="false")["data"] == []


def test_on_the_sellers_pages(shop: Service, simulator: Running, staff: httpx.Client) -> None:
    """Apart from holds and from what is paid; releasing says what it is, and the payment counts."""
    sale = paying(shop, simulator)
    said = staff.get("/admin/codes/NORTH-26")
    assert numbers_of(said)["Pending"] == "1"
    for section, there in (("code-holds", False), ("code-pending", True), ("code-paid", False)):
        shown = said.text.partition(f'id="{section}"')[2].partition("</section>")[0]
        assert ("a@school.test" in shown) == there, section
    path = f"/admin/redemptions/{sale['redemption']['id']}"
    assert "The payment is under way, and keeps its place." in text_of(staff.get(path))
    assert "has paid by a method that takes days" in text_of(staff.get(f"{path}/release"))
    assert staff.post(f"{path}/release").headers["location"] == f"{path}?told=paying-after-all"
    assert states(read(shop, sale)) == ("pending", "pending")
