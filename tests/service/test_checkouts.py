"""Checkouts over HTTP: what is charged, who gets in, what comes again, and what happens when something is down."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest
from tests.conftest import Clock
from tests.service.test_the_door import refused
from tests.support.places import lapse
from tests.support.races import beside
from tests.support.serving import Service

from counterfoil.hosts.psycopg import Psycopg
from counterfoil.simulator import Fault, Running
from counterfoil.verbs import redemptions

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"buyer": ""}, "buyer"), ({"buyer": "   "}, "buyer"), ({"buyer": "a" * 256}, "buyer"),
    ({"buyer": "a" * 10_000}, "buyer"), ({"buyer": 5}, "buyer"),
    ({"buyer": None}, "buyer"), ({"buyer": "a\u0000"}, "buyer"),
    ({"code": ""}, "code"), ({"code": "-- --"}, "code"), ({"code": 5}, "code"), ({"code": "a" * 251}, "code"),
    ({"product": None}, "body"), ({"product": "Hub!"}, "product"), ({"product": 5}, "product"),
    ({"amount": 5}, "body"), ({"name": "Mug"}, "body"), ({"currency": "gbp"}, "body"),
    ({"success_url": "/thanks"}, "success_url"), ({"success_url": "javascript:alert(1)"}, "success_url"),
    ({"success_url": "ftp://shop.test/"}, "success_url"), ({"success_url": "https://"}, "success_url"),
    ({"success_url": ""}, "success_url"), ({"success_url": None}, "success_url"),
    ({"success_url": "https://shop.test/a b"}, "success_url"),
    ({"success_url": "https://shop.test/" + "a" * 2000}, "success_url"),
    ({"cancel_url": "//shop.test"}, "cancel_url"), ({"cancel_url": 5}, "cancel_url"),
    ({"metadata": []}, "metadata"), ({"metadata": {"a": 5}}, "metadata.a"), ({"metadata": {"": "a"}}, "metadata"),
    ({"metadata": {"a" * 41: "x"}}, "metadata"), ({"metadata": {"a": "x" * 501}}, "metadata.a"),
    ({"metadata": {str(n): "x" for n in range(51)}}, "metadata"),
    ({"quantity": 2}, "quantity"),
]  # fmt: skip


@pytest.fixture
def shop(service: Service) -> Service:
    """A service with a school, a product of 20 pounds and a code of half of it for two."""
    service.code(cap=2)
    return service


class TestWhatIsCharged:
    @pytest.mark.parametrize(
        ("discount", "amount", "off"),
        [
            ({"percent": 50}, 1000, 1000),
            ({"percent": 33.33}, 1333, 667),
            ({"percent": 0.01}, 2000, 0),
            ({"percent": 100}, 0, 2000),
            ({"amount_off": 500, "currency": "gbp"}, 1500, 500),
            ({"amount_off": 2000, "currency": "gbp"}, 0, 2000),
            ({"price": 1500, "currency": "gbp"}, 1500, 500),
            ({"price": 0, "currency": "gbp"}, 0, 2000),
        ],
    )
    def test_a_quote_a_checkout_and_the_page_say_the_same(
        self, service: Service, simulator: Running, discount: dict[str, Any], amount: int, off: int
    ) -> None:
        service.code(discount=discount)
        quote = service.post("/v1/quotes", {"product": "hub", "code": "north26"}, status=200)
        assert (quote["list_amount"], quote["amount"], quote["discount_amount"]) == (2000, amount, off)
        assert (quote["currency"], quote["available"], quote["refusal"]) == ("gbp", True, None)
        sale = service.open("a@school.test")
        assert (sale["list_amount"], sale["amount"], sale["discount_amount"]) == (2000, amount, off)
        session = simulator.session(sale["session_id"])
        assert (session["amount_total"], session["currency"]) == (amount, "gbp")
        # Also what costs nothing, or takes nothing off, holds a place and bounds its session.
        assert session["expires_at"] - session["created"] < 32 * 60
        assert service.get("/v1/codes/NORTH-26/usage")["held"] == 1
        simulator.pay(sale["session_id"])
        assert service.get(f"/v1/checkouts/{sale['id']}")["status"] == "paid"

    @pytest.mark.parametrize(
        ("discount", "code"),
        [
            ({"amount_off": 2001, "currency": "gbp"}, "discount-exceeds-price"),
            ({"price": 2001, "currency": "gbp"}, "discount-exceeds-price"),
            ({"amount_off": 500, "currency": "eur"}, "currency-mismatch"),
            ({"price": 500, "currency": "eur"}, "currency-mismatch"),
            ({"percent": 99.5}, "amount-too-small"),
            ({"amount_off": 1980, "currency": "gbp"}, "amount-too-small"),
        ],
    )
    def test_what_does_not_go_together(self, service: Service, discount: dict[str, Any], code: str) -> None:
        service.code(discount=discount)
        for path, body in (
            ("/v1/checkouts", service.order("a@school.test")),
            ("/v1/quotes", {"product": "hub", "code": "north26"}),
        ):
            said = refused(service.client.post(path, json=body), 422, code)
            assert said.get("minimum") == (30 if code == "amount-too-small" else None)
        assert service.get("/v1/codes/NORTH-26/usage")["held"] == 0

    def test_something_of_the_callers_own(self, shop: Service, simulator: Running) -> None:
        own = {"product": None, "name": "Mug", "amount": 801, "currency": "gbp", "metadata": {"order": "77"}}
        body = {name: value for name, value in (shop.order("a@school.test") | own).items() if value is not None}
        sale = shop.post("/v1/checkouts", body, status=201)
        assert (sale["product"], sale["name"], sale["amount"], sale["metadata"]) == (None, "Mug", 400, {"order": "77"})
        session = simulator.session(sale["session_id"])
        assert session["amount_total"] == 400
        assert session["client_reference_id"] == sale["redemption"]["id"]


class TestWhoGetsIn:
    def test_the_last_place(self, shop: Service) -> None:
        first, second = (shop.open(f"{buyer}@school.test") for buyer in "ab")
        held = refused(shop.client.post("/v1/checkouts", json=shop.order("c@school.test")), 409, "allocation-held")
        assert (held["cap"], held["held"]) == (2, 2)
        assert held["next_release_at"] == min(first["redemption"]["expires_at"], second["redemption"]["expires_at"])
        assert held["period"] == first["redemption"]["period"]
        quote = shop.post("/v1/quotes", {"product": "hub", "code": "north26", "buyer": "c@school.test"}, status=200)
        assert (quote["available"], quote["refusal"], quote["amount"]) == (False, "allocation-held", 1000)

    def test_all_spent(self, shop: Service, simulator: Running) -> None:
        for buyer in "ab":
            simulator.pay(shop.open(f"{buyer}@school.test")["session_id"])
        spent = refused(shop.client.post("/v1/checkouts", json=shop.order("c@school.test")), 409, "allocation-spent")
        assert (spent["cap"], "next_release_at" in spent) == (2, False)

    def test_who_has_used_it(self, shop: Service, simulator: Running) -> None:
        sale = shop.open("a@school.test")
        simulator.pay(sale["session_id"])
        said = refused(shop.client.post("/v1/checkouts", json=shop.order("A@SCHOOL.TEST")), 409, "buyer-limit-reached")
        assert (said["limit"], said["checkout"]) == (1, sale["id"])
        quote = shop.post("/v1/quotes", {"product": "hub", "code": "north26", "buyer": "a@school.test"}, status=200)
        assert (quote["available"], quote["refusal"]) == (False, "buyer-limit-reached")

    def test_as_often_as_is_allowed(self, service: Service, simulator: Running) -> None:
        service.code(cap=10, per_buyer_limit=2)
        for _ in range(2):
            simulator.pay(service.open("a@school.test")["session_id"])
        refused(service.client.post("/v1/checkouts", json=service.order("a@school.test")), 409, "buyer-limit-reached")

    def test_references_are_compared_as_they_are(self, shop: Service) -> None:
        """Only with an @ it is an address, and case does not matter."""
        assert shop.open("student-7")["id"] != shop.open("STUDENT-7")["id"]

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            ({"starts_on": "2099-01-01"}, "code-not-open"),
            ({"ends_on": "2020-01-01"}, "code-ended"),
            ({"paused": True}, "code-paused"),
            ({"products": ["other"]}, "code-not-for-product"),
        ],
    )
    def test_codes_that_are_not_good_now(self, shop: Service, change: dict[str, Any], code: str) -> None:
        shop.post("/v1/products", {"id": "other", "name": "Other", "amount": 500, "currency": "gbp"}, status=201)
        assert shop.client.patch("/v1/codes/NORTH-26", json=change).status_code == 200
        said = refused(shop.client.post("/v1/checkouts", json=shop.order("a@school.test")), 409, code)
        for day in ("starts_on", "ends_on"):
            assert said.get(day) == change.get(day)
        quote = shop.post("/v1/quotes", {"product": "hub", "code": "north26"}, status=200)
        assert (quote["available"], quote["refusal"]) == (False, code)

    def test_what_is_unknown(self, shop: Service) -> None:
        for path in ("/v1/checkouts", "/v1/quotes"):
            body = shop.order("a@school.test") if path == "/v1/checkouts" else {"product": "hub"}
            refused(shop.client.post(path, json=body | {"code": "S0UTH"}), 422, "code-unknown")
            refused(shop.client.post(path, json=body | {"product": "nothing"}), 422, "product-unknown")


class TestBadInput:
    @pytest.mark.parametrize(("change", "field"), WRONG)
    def test_refused_and_nothing_held(self, shop: Service, change: dict[str, Any], field: str) -> None:
        said = refused(
            shop.client.post("/v1/checkouts", json=shop.order("a@school.test") | change), 422, "invalid-request"
        )
        assert any(one["field"].startswith(field) for one in said["errors"]), said["errors"]
        assert shop.get("/v1/checkouts")["data"] == []
        assert shop.get("/v1/codes/NORTH-26/usage")["held"] == 0

    def test_urls_of_any_site(self, shop: Service) -> None:
        """Its own site is the caller's to say: also with a port, an address, a query, and another language."""
        for number, url in enumerate(
            (
                "http://localhost:3000",
                "https://10.0.0.7:8443/a?b=c#d",
                "https://bücher.test/danke?s={CHECKOUT_SESSION_ID}",
            )
        ):
            shop.open(f"{number}@school.test", None, success_url=url, cancel_url=url)


class TestAgain:
    def test_two_at_once_are_one(self, shop: Service, simulator: Running) -> None:
        """The second waits while the first is still creating, and gets the same page."""
        simulator.fail_next(Fault("slow", "POST", "/v1/checkout/sessions", seconds=0.8))
        with ThreadPoolExecutor(2) as pool:
            said = list(
                pool.map(lambda _: shop.client.post("/v1/checkouts", json=shop.order("a@school.test")), range(2))
            )
        assert sorted(one.status_code for one in said) == [200, 201]
        assert said[0].json()["url"] == said[1].json()["url"]
        assert len(simulator.sessions()) == 1

    def test_too_long_at_it_is_busy(self, shop: Service, simulator: Running) -> None:
        """After the lock's time the second is told *busy*, never that it is full."""
        simulator.fail_next(Fault("slow", "POST", "/v1/checkout/sessions", seconds=5))
        with beside(lambda: shop.open("a@school.test")) as first:
            while not shop.get("/v1/checkouts")["data"]:
                pass
            said = shop.client.post("/v1/checkouts", json=shop.order("a@school.test"))
            refused(said, 503, "busy")
            assert int(said.headers["retry-after"]) >= 1
            assert first.result(30)["status"] == "open"

    def test_something_else_moves_the_place(self, shop: Service, simulator: Running) -> None:
        shop.post("/v1/products", {"id": "day", "name": "Day", "amount": 4000, "currency": "gbp"}, status=201)
        first = shop.open("a@school.test")
        second = shop.open("a@school.test", product="day")
        assert second["id"] != first["id"]
        assert simulator.session(first["session_id"])["status"] == "expired"
        before = shop.get(f"/v1/checkouts/{first['id']}")
        assert (before["status"], before["url"], before["redemption"]["release_reason"]) == (
            "cancelled", None, "superseded",
        )  # fmt: skip
        assert shop.get("/v1/codes/NORTH-26/usage")["held"] == 1

    def test_it_proves_paid(self, shop: Service, simulator: Running) -> None:
        shop.post("/v1/products", {"id": "day", "name": "Day", "amount": 4000, "currency": "gbp"}, status=201)
        first = shop.open("a@school.test")
        simulator.hold_events()
        simulator.pay(first["session_id"])
        body = shop.order("a@school.test", product="day")
        said = refused(shop.client.post("/v1/checkouts", json=body), 409, "buyer-limit-reached")
        assert said["checkout"] == first["id"]
        assert shop.get(f"/v1/checkouts/{first['id']}")["status"] == "paid"

    def test_a_hold_that_a_crash_left_is_driven_on(
        self, shop: Service, connection: psycopg.Connection[Any], simulator: Running
    ) -> None:
        """Reserved, and died before the session was attached: the same place, and a page."""
        first = shop.open("a@school.test")
        connection.execute(
            "UPDATE counterfoil.redemption SET session_id = NULL, session_url = NULL, session_expires_at = NULL"
        )
        connection.execute(
            "UPDATE counterfoil.checkout SET session_id = NULL, session_url = NULL, session_expires_at = NULL"
        )
        again = shop.open("a@school.test", status=None)
        assert (again["id"], again["redemption"]["id"]) == (first["id"], first["redemption"]["id"])
        assert again["url"] == first["url"]
        assert len(simulator.sessions()) == 1

    def test_at_full_price_each_request_is_a_checkout_of_its_own(self, shop: Service) -> None:
        assert shop.open("a@school.test", None)["id"] != shop.open("a@school.test", None)["id"]


class TestEndings:
    def test_cancelled(self, shop: Service, simulator: Running) -> None:
        sale = shop.open("a@school.test")
        done = shop.post(f"/v1/checkouts/{sale['id']}/cancel", status=200)
        assert (done["status"], done["url"], done["redemption"]["release_reason"]) == ("cancelled", None, "cancelled")
        assert simulator.session(sale["session_id"])["status"] == "expired"
        assert shop.get("/v1/codes/NORTH-26/usage")["held"] == 0
        assert shop.post(f"/v1/checkouts/{sale['id']}/cancel", status=200) == done

    def test_cancelled_and_it_proves_paid(self, shop: Service, simulator: Running) -> None:
        sale = shop.open("a@school.test")
        simulator.hold_events()
        simulator.pay(sale["session_id"])
        done = shop.post(f"/v1/checkouts/{sale['id']}/cancel", status=200)
        assert (done["status"], done["redemption"]["status"]) == ("paid", "completed")

    def test_cancelled_at_full_price(self, shop: Service, simulator: Running) -> None:
        sale = shop.open("a@school.test", None)
        assert shop.post(f"/v1/checkouts/{sale['id']}/cancel", status=200)["status"] == "cancelled"
        assert simulator.session(sale["session_id"])["status"] == "expired"

    def test_cancel_with_stripe_down_gives_nothing_back(self, shop: Service, simulator: Running) -> None:
        """Its page could still be paid."""
        sale = shop.open("a@school.test")
        simulator.fail_next(Fault("refuse", "POST", "*/expire", times=5, status=500))
        refused(shop.client.post(f"/v1/checkouts/{sale['id']}/cancel"), 502, "stripe-unavailable")
        assert shop.get(f"/v1/checkouts/{sale['id']}")["status"] == "open"
        assert shop.get("/v1/codes/NORTH-26/usage")["held"] == 1

    def test_refreshed(self, shop: Service, simulator: Running) -> None:
        """For return pages: the event is late, so Stripe is asked."""
        sale = shop.open("a@school.test")
        simulator.hold_events()
        simulator.pay(sale["session_id"])
        assert shop.get(f"/v1/checkouts/{sale['id']}")["status"] == "open"
        done = shop.post(f"/v1/checkouts/{sale['id']}/refresh", status=200)
        assert (done["status"], done["paid_at"] is not None) == ("paid", True)
        assert done["payment_intent"].startswith("pi_")

    def test_a_get_asks_nobody(self, shop: Service, simulator: Running) -> None:
        sale = shop.open("a@school.test")
        simulator.fail_next(Fault("refuse", "*", "*", times=1, status=500))
        for path in (f"/v1/checkouts/{sale['id']}", "/v1/checkouts", "/v1/codes/NORTH-26/usage"):
            shop.get(path)
        assert simulator.account.faults.waiting[0].times == 1

    def test_paid_after_its_place_was_given_away(self, shop: Service, simulator: Running, clock: Clock) -> None:
        """Money that arrived is honoured, over the cap, and marked."""
        shop.client.patch("/v1/codes/NORTH-26", json={"cap": 1})
        code = shop.get("/v1/codes/NORTH-26")
        shop.client.put(f"/v1/codes/NORTH-26/allocations/{code['period']}", json={"cap": 1})
        late = shop.open("late@school.test")
        shop.post(f"/v1/redemptions/{late['redemption']['id']}/release", status=200)
        simulator.pay(shop.open("next@school.test")["session_id"])
        # The simulator ended that session when it was released; here Stripe let somebody finish all the same.
        session = simulator.account.engine.sessions[late["session_id"]]
        simulator.call(lambda: session.update(status="open"))
        simulator.pay(late["session_id"])
        done = shop.get(f"/v1/checkouts/{late['id']}")
        assert (done["status"], done["redemption"]["status"], done["redemption"]["over_cap"]) == (
            "paid", "completed", True,
        )  # fmt: skip
        usage = shop.get("/v1/codes/NORTH-26/usage")
        assert (usage["completed"], usage["cap"], usage["over"], usage["remaining"]) == (2, 1, 1, 0)
        assert shop.get("/v1/entitlements", buyer="late@school.test")["data"]


class TestReleasedByHand:
    def test_a_place_comes_back_at_once(self, shop: Service, simulator: Running) -> None:
        sale = shop.open("a@school.test")
        done = shop.post(f"/v1/redemptions/{sale['redemption']['id']}/release", status=200)
        assert (done["status"], done["release_reason"], done["already_settled"]) == ("released", "by_hand", False)
        assert simulator.session(sale["session_id"])["status"] == "expired"
        assert shop.get(f"/v1/checkouts/{sale['id']}")["status"] == "cancelled"
        again = shop.post(f"/v1/redemptions/{sale['redemption']['id']}/release", status=200)
        assert again == done | {"already_settled": True}

    def test_a_sale_cannot_be_unsold(self, shop: Service, simulator: Running) -> None:
        sale = shop.open("a@school.test")
        simulator.pay(sale["session_id"])
        done = shop.post(f"/v1/redemptions/{sale['redemption']['id']}/release", status=200)
        assert (done["status"], done["already_settled"]) == ("completed", True)
        assert shop.get("/v1/codes/NORTH-26/usage")["completed"] == 1


class TestStripe:
    @pytest.mark.parametrize(
        ("fault", "status", "code"),
        [
            (Fault("refuse", "POST", "/v1/checkout/sessions", times=5, status=500), 502, None),
            (
                Fault(
                    "refuse", "POST", "/v1/checkout/sessions", times=5, status=402, code="account_closed",
                    message="Your account cannot currently make charges.", type="invalid_request_error",
                ),
                502, "account_closed",
            ),
            (Fault("refuse", "POST", "/v1/checkout/sessions", times=5, status=401), 502, None),
            (Fault("reset", "POST", "/v1/checkout/sessions", times=5), 503, None),
        ],
        ids=["500", "402", "401", "cut"],
    )  # fmt: skip
    def test_no_session_no_place(
        self, shop: Service, simulator: Running, fault: Fault, status: int, code: str | None
    ) -> None:
        """Given back at once: nobody hits a wall for forty minutes because Stripe was down."""
        simulator.fail_next(fault)
        body = refused(
            shop.client.post("/v1/checkouts", json=shop.order("a@school.test")), status, "stripe-unavailable"
        )
        assert body["stripe_code"] == code
        if status == 502:
            assert body["stripe_message"] == fault.message
            assert body["request_id"].startswith("req_")
        simulator.call(simulator.account.faults.clear)
        assert shop.get("/v1/codes/NORTH-26/usage")["held"] == 0
        failed = shop.get("/v1/checkouts")["data"][0]
        assert (failed["status"], failed["redemption"]["release_reason"]) == ("failed", "creation_failed")
        assert shop.open("a@school.test")["status"] == "open"

    def test_a_rate_limit_is_waited_out(self, shop: Service, simulator: Running) -> None:
        """The place is held already: its buyer stands in line until Stripe takes the call, with the same key."""
        simulator.fail_next(Fault("refuse", "POST", "/v1/checkout/sessions", times=3, status=429, code="rate_limit"))
        opened = shop.open("a@school.test")
        assert opened["status"] == "open"
        assert [session["id"] for session in simulator.sessions()] == [opened["session_id"]]

    def test_the_client_gave_up(self, shop: Service, simulator: Running) -> None:
        """It is finished all the same, and the same buyer gets the same page."""
        simulator.fail_next(Fault("slow", "POST", "/v1/checkout/sessions", seconds=1.0))
        with pytest.raises(httpx.ReadTimeout):
            shop.client.post("/v1/checkouts", json=shop.order("a@school.test"), timeout=0.4)
        again = shop.open("a@school.test", status=200)
        assert again["status"] == "open"
        assert len(simulator.sessions()) == 1

    def test_an_answer_that_was_lost(self, shop: Service, simulator: Running) -> None:
        """Made at Stripe, and the answer lost on the way: the retry brings the same session."""
        simulator.fail_next(Fault("error_after", "POST", "/v1/checkout/sessions"))
        said = shop.client.post("/v1/checkouts", json=shop.order("a@school.test"))
        assert said.status_code in (201, 502)
        if said.status_code == 502:
            assert shop.get("/v1/codes/NORTH-26/usage")["held"] == 0

    def test_busy_when_a_lapsed_place_cannot_be_asked_about(
        self, shop: Service, simulator: Running, connection: psycopg.Connection[Any], host: Psycopg
    ) -> None:
        """The only place left may have been paid for: never given away unasked, and never called spent."""
        code = shop.get("/v1/codes/NORTH-26")
        shop.client.put(f"/v1/codes/NORTH-26/allocations/{code['period']}", json={"cap": 1})
        shop.open("a@school.test")
        lapse(connection, host.run(redemptions())[0])
        simulator.fail_next(Fault("refuse", "GET", "/v1/checkout/sessions/*", times=9, status=500))
        simulator.fail_next(Fault("refuse", "POST", "*/expire", times=9, status=500))
        said = shop.client.post("/v1/checkouts", json=shop.order("b@school.test"))
        refused(said, 503, "busy")
        assert said.headers["retry-after"]
        simulator.call(simulator.account.faults.clear)
        assert shop.open("b@school.test")["status"] == "open"


class TestIdempotencyKeys:
    def test_a_request_sent_twice_is_done_once(self, shop: Service, simulator: Running) -> None:
        key = {"Idempotency-Key": "order-77"}
        first = shop.client.post("/v1/checkouts", json=shop.order("a@school.test", None), headers=key)
        second = shop.client.post("/v1/checkouts", json=shop.order("a@school.test", None), headers=key)
        assert (first.status_code, second.status_code) == (201, 201)
        assert first.json() == second.json()
        assert (first.headers.get("idempotent-replayed"), second.headers["idempotent-replayed"]) == (None, "true")
        assert len(simulator.sessions()) == 1

    def test_a_replay_answers_the_resource_as_it_is_now(self, shop: Service, simulator: Running) -> None:
        key = {"Idempotency-Key": "order-77"}
        first = shop.client.post("/v1/checkouts", json=shop.order("a@school.test"), headers=key).json()
        simulator.pay(first["session_id"])
        again = shop.client.post("/v1/checkouts", json=shop.order("a@school.test"), headers=key)
        assert (again.status_code, again.json()["status"], again.json()["url"]) == (201, "paid", None)

    def test_the_key_for_something_else(self, shop: Service) -> None:
        key = {"Idempotency-Key": "order-77"}
        shop.client.post("/v1/checkouts", json=shop.order("a@school.test"), headers=key)
        refused(
            shop.client.post("/v1/checkouts", json=shop.order("b@school.test"), headers=key),
            422,
            "idempotency-mismatch",
        )
        refused(shop.client.post("/v1/quotes", json={"product": "hub"}, headers=key), 422, "idempotency-mismatch")

    def test_a_refusal_is_not_remembered(self, shop: Service, simulator: Running) -> None:
        key = {"Idempotency-Key": "order-77"}
        simulator.fail_next(Fault("refuse", "POST", "/v1/checkout/sessions", times=2, status=500))
        assert shop.client.post("/v1/checkouts", json=shop.order("a@school.test"), headers=key).status_code == 502
        assert shop.client.post("/v1/checkouts", json=shop.order("a@school.test"), headers=key).status_code == 201

    def test_while_the_first_is_at_work(self, shop: Service, simulator: Running) -> None:
        key = {"Idempotency-Key": "order-77"}
        simulator.fail_next(Fault("slow", "POST", "/v1/checkout/sessions", seconds=1.5))
        body = shop.order("a@school.test")
        with beside(lambda: shop.client.post("/v1/checkouts", json=body, headers=key)) as first:
            while not shop.get("/v1/checkouts")["data"]:
                pass
            refused(shop.client.post("/v1/checkouts", json=body, headers=key), 409, "idempotency-in-progress")
            assert first.result(30).status_code == 201

    def test_of_one_key_and_a_day(self, shop: Service, connection: psycopg.Connection[Any]) -> None:
        key = {"Idempotency-Key": "order-77"}
        first = shop.client.post("/v1/checkouts", json=shop.order("a@school.test", None), headers=key).json()
        connection.execute("UPDATE counterfoil.idempotency SET begun_at = begun_at - interval '24 hours 1 minute'")
        second = shop.client.post("/v1/checkouts", json=shop.order("a@school.test", None), headers=key).json()
        assert first["id"] != second["id"]

    @pytest.mark.parametrize("key", ["a" * 256, "a\tb", "é"])
    def test_keys_that_are_none(self, shop: Service, key: str) -> None:
        said = shop.client.post("/v1/quotes", json={"product": "hub"}, headers=[(b"idempotency-key", key.encode())])
        refused(said, 400, "bad-request")

    @pytest.mark.parametrize(
        ("path", "body"),
        [
            ("/v1/institutions", {"name": "South", "time_zone": "Europe/London"}),
            ("/v1/products", {"id": "day", "name": "Day", "amount": 500, "currency": "gbp"}),
            ("/v1/codes", {"institution": "northfold", "code": "NEW", "cap": 1, "discount": {"percent": 5}}),
            ("/v1/quotes", {"product": "hub"}),
        ],
    )
    def test_on_every_post(self, shop: Service, path: str, body: dict[str, Any]) -> None:
        key = {"Idempotency-Key": "once"}
        first, second = (shop.client.post(path, json=body, headers=key) for _ in range(2))
        assert first.json() == second.json()
        assert first.status_code == second.status_code
        assert second.headers["idempotent-replayed"] == "true"


class TestLists:
    def test_filters(self, shop: Service, simulator: Running) -> None:
        paid, open_ = shop.open("a@school.test"), shop.open("b@school.test")
        simulator.pay(paid["session_id"])
        for query, ids in (
            ({"buyer": "A@school.test"}, [paid["id"]]),
            ({"session_id": open_["session_id"]}, [open_["id"]]),
            ({"status": "paid"}, [paid["id"]]),
            ({"status": "open", "buyer": "a@school.test"}, []),
            ({}, [open_["id"], paid["id"]]),
        ):
            found = shop.client.get("/v1/checkouts", params=query).json()["data"]
            assert [one["id"] for one in found] == ids
        for query, ids in (
            ({"status": "completed"}, [paid["redemption"]["id"]]),
            (
                {"code": "north 26", "period": paid["redemption"]["period"]},
                [open_["redemption"]["id"], paid["redemption"]["id"]],
            ),
            ({"period": "1999-00"}, []),
            ({"institution": "northfold"}, [open_["redemption"]["id"], paid["redemption"]["id"]]),
        ):
            found = shop.client.get("/v1/redemptions", params=query).json()["data"]
            assert [one["id"] for one in found] == ids, query

    def test_as_csv(self, shop: Service) -> None:
        """A cell that a spreadsheet would take for a formula is defused; commas and quotes are quoted."""
        shop.open('=HYPERLINK("http://x","a")')
        said = shop.client.get("/v1/redemptions.csv")
        assert said.headers["content-type"] == "text/csv; charset=utf-8"
        header, row = said.text.splitlines()
        assert header.split(",")[:4] == ["id", "code", "period", "status"]
        assert '"\'=HYPERLINK(""http://x"",""a"")"' in row

    def test_entitlements_are_alike(self, shop: Service, simulator: Running) -> None:
        """At full price and at a discount."""
        for code in ("NORTH-26", None):
            simulator.pay(shop.open("a@school.test", code)["session_id"])
        found = shop.get("/v1/entitlements", buyer="a@school.test")["data"]
        assert [(one["unlock"], one["product"], one["revoked_at"]) for one in found] == [("hub", "hub", None)] * 2
        assert shop.get("/v1/entitlements", buyer="b@school.test")["data"] == []


def test_twenty_at_once_for_two_places(shop: Service, simulator: Running) -> None:
    """Separate buyers, over HTTP, at the same moment."""
    gate = threading.Barrier(20)

    def student(number: int) -> httpx.Response:
        gate.wait()
        return shop.client.post("/v1/checkouts", json=shop.order(f"{number}@school.test"))

    with ThreadPoolExecutor(20) as pool:
        said = list(pool.map(student, range(20)))
    codes = sorted("in" if one.status_code == 201 else one.json()["code"] for one in said)
    assert codes == ["allocation-held"] * 18 + ["in"] * 2
