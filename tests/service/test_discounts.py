"""Discounts over HTTP, from the code to the payment page: currencies, bounds, products, what cannot be charged."""

import re
from typing import Any

import httpx
import psycopg
import pytest
from tests.service.test_the_catalogue import wrong
from tests.service.test_the_door import refused
from tests.support.admin import text_of
from tests.support.serving import Service

from counterfoil.simulator import Running

OFF = {"amount_off": 500, "currency": "gbp", "currencies": {"eur": 600, "jpy": 900}}
PRICE = {"price": 1500, "currency": "gbp", "currencies": {"eur": 0}}
CAPPED = {"percent": 50, "at_most": {"gbp": 2000, "kwd": 2500}}


def quote(service: Service, amount: int, currency: str, *, status: int | None = 200, **more: Any) -> Any:
    """What a thing of this price costs with the code."""
    body = {"name": "A thing", "amount": amount, "currency": currency, "code": "NORTH-26", **more}
    return service.post("/v1/quotes", body, status=status)


@pytest.mark.parametrize("discount", [OFF, PRICE, CAPPED, {"percent": 12.5}, {"price": 0, "currency": "gbp"}])
def test_shown_as_it_was_given(service: Service, discount: dict[str, Any]) -> None:
    """Without what was not said: for one currency it is the form that it always was."""
    made = service.code(discount=discount)
    assert made["discount"] == service.get("/v1/codes/NORTH-26")["discount"] == discount
    changed = service.client.patch("/v1/codes/NORTH-26", json={"discount": OFF})
    assert (changed.status_code, changed.json()["discount"]) == (200, OFF)
    again = service.client.patch("/v1/codes/NORTH-26", json={"discount": discount})
    assert (again.status_code, again.json()["discount"]) == (200, discount)


@pytest.mark.parametrize(
    "discount",
    [
        OFF | {"currencies": {}}, OFF | {"currencies": {"gbp": 5}}, OFF | {"currencies": {"eur": 0}},
        OFF | {"currencies": {"EUR": 5}}, OFF | {"currencies": {"xxx": 5}}, OFF | {"currencies": {"eur": "5"}},
        OFF | {"currencies": {"eur": 1.0}}, OFF | {"currencies": {"eur": True}}, OFF | {"currencies": ["eur"]},
        OFF | {"currencies": {"kwd": 5}}, OFF | {"currencies": {"isk": 150}}, OFF | {"currencies": {"eur": 10**8}},
        OFF | {"at_most": {"gbp": 5}}, CAPPED | {"currencies": {"gbp": 5}}, CAPPED | {"at_most": {"gbp": 0}},
        CAPPED | {"at_most": {"kwd": 2501}}, CAPPED | {"at_most": {}}, CAPPED | {"at_most": 5},
        {"currencies": {"eur": 5}}, {"at_most": {"gbp": 5}}, {"amount_off": 5, "currency": "kwd"},
        {"price": 150, "currency": "ugx"},
    ],
)  # fmt: skip
def test_what_makes_no_sense(service: Service, discount: dict[str, Any]) -> None:
    service.code("OTHER")
    body = {"institution": "northfold", "code": "NORTH-26", "cap": 1, "discount": discount}
    said = refused(service.client.post("/v1/codes", json=body), 422, "invalid-request")
    assert said["errors"][0]["field"].startswith("discount"), said["errors"]
    refused(service.client.get("/v1/codes/NORTH-26"), 404, "code-unknown")


def test_each_currency_has_its_amount(service: Service) -> None:
    service.code(discount=OFF)
    said = [quote(service, 5000, one) for one in ("gbp", "eur", "jpy")]
    assert [one["discount_amount"] for one in said] == [500, 600, 900]
    assert all(one["amount"] + one["discount_amount"] == one["list_amount"] == 5000 for one in said)
    none = refused(
        service.client.post(
            "/v1/quotes", json={"name": "A thing", "amount": 5000, "currency": "usd", "code": "NORTH-26"}
        ),
        422, "currency-mismatch",
    )  # fmt: skip
    assert none["detail"] == "The code's discount is in gbp or eur or jpy, the price in usd."
    assert (none["expected"], none["got"], none["currencies"]) == ("gbp", "usd", ["gbp", "eur", "jpy"])


def test_a_bound_on_what_a_percentage_takes_off(service: Service, simulator: Running) -> None:
    """50 %, at most £20.00: up to the payment page."""
    service.code(discount=CAPPED)
    assert [quote(service, amount, "gbp")["discount_amount"] for amount in (3000, 4000, 4001, 9900)] == [
        1500, 2000, 2000, 2000,
    ]  # fmt: skip
    assert quote(service, 9990, "kwd")["amount"] == 7490
    assert quote(service, 9900, "eur", status=422)["code"] == "currency-mismatch"
    own = {"product": None, "name": "A thing", "amount": 9900, "currency": "gbp"}
    sale = service.open("a@school.test", **own)
    assert (sale["amount"], sale["discount_amount"]) == (7900, 2000)
    assert simulator.session(sale["session_id"])["amount_total"] == 7900


def test_a_code_of_some_products(service: Service, simulator: Running) -> None:
    """Good for those, and neither for others nor for what the caller names: the shop says so in its own words."""
    service.code(products=["hub"])
    service.post("/v1/products", {"id": "day", "name": "A day", "amount": 4000, "currency": "gbp"}, status=201)
    assert service.post("/v1/quotes", {"product": "hub", "code": "NORTH-26"}, status=200)["available"]
    for body in ({"product": "day"}, {"name": "Practice hub", "amount": 2000, "currency": "gbp"}):
        said = service.post("/v1/quotes", body | {"code": "NORTH-26"}, status=200)
        assert (said["available"], said["refusal"]) == (False, "code-not-for-product")
        order = service.order("a@school.test") | {"product": None} | body
        refused(service.client.post("/v1/checkouts", json=order), 409, "code-not-for-product")
    assert service.get("/v1/codes/NORTH-26/usage")["held"] == 0

    browser = httpx.Client(base_url=service.url, headers={"Accept": "text/html"}, timeout=30, trust_env=False)
    with browser:
        looked = browser.get("/products/day", params={"code": "NORTH-26"})
        assert "This code is for something else. Check with Northfold what it is good for." in text_of(looked)
        assert "£40.00" in text_of(looked)
        assert "£20.00" not in text_of(looked)
        bought = browser.post(
            "/products/day", data={"code": "NORTH-26", "buyer": "a@school.test"}, headers={"Origin": service.url}
        )
        assert (bought.status_code, "This code is for something else." in text_of(bought)) == (409, True)
        # What was typed is still there.
        assert re.search(r'name="code"[^>]* value="NORTH-26"', bought.text)
    assert service.get("/v1/checkouts")["data"] == []
    assert simulator.sessions() == []


@pytest.mark.parametrize(
    ("currency", "amount", "near"),
    [("kwd", 5124, "5120 or 5130"), ("kwd", 1, "10"), ("tnd", 99_999_999, "99999990"), ("isk", 550, "500 or 600"),
     ("ugx", 1, "100")],
)  # fmt: skip
def test_a_price_that_stripe_cannot_charge(service: Service, currency: str, amount: int, near: str) -> None:
    """Refused where a product is made, in a quote and at checkout: and what could be charged is said."""
    service.code()
    own = {"name": "A thing", "amount": amount, "currency": currency}
    wrong(service, "POST", "/v1/products", own | {"id": "thing"}, "amount")
    said = refused(service.client.post("/v1/quotes", json=own), 422, "invalid-request")
    assert near in said["detail"]
    order = service.order("a@school.test", None) | {"product": None} | own
    wrong(service, "POST", "/v1/checkouts", order, "amount")
    assert service.get("/v1/checkouts")["data"] == []


def test_an_amount_from_before_it_was_looked_at(service: Service, connection: psycopg.Connection[Any]) -> None:
    """A code that leaves what Stripe cannot charge is shown, and refused: not as a rush that will pass."""
    service.code(discount={"amount_off": 1000, "currency": "kwd"})
    service.post("/v1/products", {"id": "day", "name": "A day", "amount": 5000, "currency": "kwd"}, status=201)
    connection.execute("UPDATE counterfoil.code SET amount_off = 5")
    assert service.get("/v1/codes/NORTH-26")["discount"] == {"amount_off": 5, "currency": "kwd"}
    refused(service.client.post("/v1/quotes", json={"product": "day", "code": "NORTH-26"}), 422, "invalid-request")
    with httpx.Client(base_url=service.url, headers={"Accept": "text/html"}, timeout=30, trust_env=False) as browser:
        looked = text_of(browser.get("/products/day", params={"code": "NORTH-26"}))
    assert "What is left to pay cannot be charged. Buy without the code, or ask us." in looked


@pytest.mark.parametrize(
    ("currency", "amount", "discounted"),
    [("kwd", 5130, 2560), ("isk", 50_500, 25_200), ("ugx", 700, 300), ("jpy", 999, 499), ("huf", 40_001, 20_000)],
)
def test_half_of_a_price_is_one_that_stripe_can_charge(
    service: Service, simulator: Running, currency: str, amount: int, discounted: int
) -> None:
    service.code()
    own = {"product": None, "name": "A thing", "amount": amount, "currency": currency}
    sale = service.open("a@school.test", **own)
    assert sale["amount"] == discounted
    simulator.pay(sale["session_id"])
    assert service.get(f"/v1/checkouts/{sale['id']}")["status"] == "paid"
