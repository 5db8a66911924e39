"""A person is planted through every entrance, forgotten, and looked for in every column of every table."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
import stripe
from tests.conftest import Clock
from tests.simulator.conftest import client
from tests.support.admin import SignIn, error_of, text_of
from tests.support.serving import Service

from counterfoil import verbs
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service.roles import Role
from counterfoil.simulator import Running

#: In no other text of the suite.
WHO = "zq.xwv@planted.test"
ALIAS = "zq.xwv+2@planted.test"
TRACES = ("zq.xwv", "planted.test")
PATH = f"/v1/buyers/{WHO}"


def everything(connection: psycopg.Connection[Any]) -> dict[str, str]:
    """Each row of the schema as text, by its table."""
    tables = connection.execute(
        "SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = 'counterfoil'::regnamespace AND c.relkind = 'r'"
    ).fetchall()
    found = {}
    for (table,) in tables:
        rows = connection.execute(f"SELECT t::text FROM counterfoil.{table} AS t".encode()).fetchall()
        found[table] = "\n".join(text for (text,) in rows).lower()
    return found


def traces(connection: psycopg.Connection[Any]) -> set[str]:
    """The tables in which there is a trace of the person."""
    return {table for table, text in everything(connection).items() if any(trace in text for trace in TRACES)}


def counts(service: Service) -> Any:
    """What an allocation says of itself, and the picture of its past."""
    return [service.get(f"/v1/codes/{code}/usage") for code in ("NORTH-26", "STRICT")]


@pytest.fixture
def planted(
    service: Service, simulator: Running, browsers: Callable[[], httpx.Client], clock: Clock, host: Psycopg
) -> Service:
    """Bought and abandoned, with and without a code, by API, page and library; one delivery failed; some refunded."""
    service.code(cap=5, per_buyer_limit=None)
    service.code("STRICT", cap=5, per_buyer_limit=None, buyer_identity="mailbox")
    service.post("/v1/webhook-endpoints", {"url": "https://hooks.test/x"}, status=None)
    urls = {"success_url": f"https://shop.test/?who={WHO}", "cancel_url": f"https://shop.test/{WHO}"}
    details = urls | {"metadata": {"who": WHO}}
    for code in ("NORTH-26", "STRICT", None):
        key = f"order-of-{WHO}-{code}"
        body = service.order(WHO, code, **details)
        opened = service.post("/v1/checkouts", body, status=201, **{"Idempotency-Key": key})
        simulator.pay(opened["session_id"])
    simulator.pay(service.open(ALIAS, "STRICT", **details)["session_id"])
    named = {"product": None, "name": f"Lesson for {WHO.upper()}", "amount": 900, "currency": "gbp"}
    given_up = service.post(
        "/v1/checkouts", {k: v for k, v in (service.order(WHO) | details | named).items() if v is not None}, status=201
    )
    service.post(f"/v1/checkouts/{given_up['id']}/cancel", status=200)
    browser = browsers()
    bought = browser.post("/products/hub", data={"buyer": WHO, "code": "NORTH-26"}, headers={"Origin": service.url})
    assert bought.status_code == 303
    simulator.expire(simulator.sessions()[0]["id"])
    host.run(verbs.reserve(id=uuid4(), code="STRICT", buyer=WHO, hold=timedelta(minutes=40), lock_timeout=timedelta(3)))
    sale = next(one for one in service.get("/v1/checkouts", buyer=WHO)["data"] if one["status"] == "paid")
    client(simulator.base_url).v1.refunds.create({"payment_intent": sale["payment_intent"]})
    simulator.wait_delivered()
    clock.advance(hours=1)
    for claim in service.client.get("/v1/redemptions?status=reserved").json()["data"]:
        service.post(f"/v1/redemptions/{claim['id']}/release", status=200)
    return service


def test_no_trace_is_left_and_no_count_changes(
    planted: Service, connection: psycopg.Connection[Any], host: Psycopg, simulator: Running
) -> None:
    assert traces(connection) >= {"redemption", "checkout", "entitlement", "event", "idempotency"}
    before, listed = counts(planted), planted.get("/v1/redemptions", limit=100)["data"]
    held = planted.get(PATH)
    assert set(held["addresses"]) == {WHO, ALIAS}
    sold = planted.client.delete(PATH)
    assert sold.status_code == 200, sold.text
    erased = sold.json()["erased"]
    assert {kind: erased[kind] for kind in erased} == {kind: len(held[kind]) for kind in erased}
    assert all(erased.values())
    assert sold.json()["at_stripe"] == held["at_stripe"]
    assert held["at_stripe"]["payment_intents"]

    assert traces(connection) == set()
    assert counts(planted) == before
    assert host.run(verbs.recount()) == []
    after = planted.get("/v1/redemptions", limit=100)["data"]
    assert [one | {"buyer": ""} for one in after] == [one | {"buyer": ""} for one in listed]
    assert {one["buyer"] for one in after} == {"(forgotten)"}
    for kind in ("redemptions", "checkouts", "entitlements", "events"):
        assert planted.get(PATH)[kind] == []
    assert planted.get("/v1/entitlements", buyer=WHO, all=True)["data"] == []
    # The events can be read still, each in its place.
    told = planted.get("/v1/events", limit=100)["data"]
    assert [one["id"] for one in told if one["id"] in {each["id"] for each in held["events"]}] == [
        one["id"] for one in reversed(held["events"])
    ]
    assert {one["data"]["buyer"] for one in told if "buyer" in one["data"]} == {"(forgotten)"}


def test_what_is_held_is_every_row(planted: Service, connection: psycopg.Connection[Any]) -> None:
    """Wherever there is a trace of them, the document has it."""
    held = planted.get(PATH)
    for table, kind in (("redemption", "redemptions"), ("checkout", "checkouts"), ("entitlement", "entitlements")):
        row = connection.execute(f"SELECT count(*) FROM counterfoil.{table}".encode()).fetchone()
        assert row == (len(held[kind]),)
    row = connection.execute("SELECT count(*) FROM counterfoil.event WHERE data::text LIKE '%planted%'").fetchone()
    assert row == (len(held["events"]),)
    assert {one["data"]["buyer"] for one in held["events"]} == {WHO, ALIAS}
    assert json.dumps(held).count("secret") == 0


def test_twice_is_harmless_and_so_is_a_stranger(planted: Service, connection: psycopg.Connection[Any]) -> None:
    assert planted.client.delete(PATH).status_code == 200
    before = everything(connection)
    for whom in (WHO, "nobody@else.test", "user/7"):
        again = planted.client.delete(f"/v1/buyers/{whom}")
        assert (again.status_code, set(again.json()["erased"].values())) == (200, {0})
    assert everything(connection) == before


def test_others_are_left_alone(planted: Service, simulator: Running) -> None:
    others = ["zq.xwv@other.test", "zq.xwv"]
    for other in others:
        simulator.pay(planted.open(other, metadata={"of": other})["session_id"])
    before = [planted.get("/v1/checkouts", buyer=other) for other in others]
    planted.client.delete(PATH)
    assert [planted.get("/v1/checkouts", buyer=other) for other in others] == before
    assert all(planted.get("/v1/entitlements", buyer=other)["data"] for other in others)


def test_the_limit_begins_anew(service: Service, simulator: Running) -> None:
    """It cannot be kept without keeping who it is of."""
    service.code(cap=5)
    simulator.pay(service.open(WHO)["session_id"])
    assert service.open(WHO, status=409)["code"] == "buyer-limit-reached"
    service.client.delete(PATH)
    simulator.pay(service.open(WHO)["session_id"])
    assert service.get("/v1/codes/NORTH-26/usage")["completed"] == 2


def test_a_buyer_called_forgotten_is_somebody_else(service: Service, simulator: Running) -> None:
    service.code(cap=5)
    simulator.pay(service.open(WHO)["session_id"])
    service.client.delete(PATH)
    assert service.get("/v1/checkouts", buyer="(forgotten)")["data"] == []
    assert service.open("(forgotten)")["status"] == "open"


class TestUnderWay:
    @pytest.mark.parametrize("code", ["NORTH-26", None])
    def test_an_open_page_is_not_forgotten(self, service: Service, connection: Any, code: str | None) -> None:
        service.code()
        opened = service.open(WHO, code)
        before = everything(connection)
        refused = service.client.delete(PATH)
        assert (refused.status_code, refused.json()["code"]) == (409, "buyer-still-buying")
        assert refused.json()["checkouts"] == [opened["id"]]
        assert len(refused.json()["redemptions"]) == (0 if code is None else 1)
        assert everything(connection) == before

    @pytest.mark.parametrize("code", ["NORTH-26", None])
    def test_unless_it_is_to_be_ended(
        self, service: Service, simulator: Running, connection: Any, code: str | None
    ) -> None:
        service.code()
        opened = service.open(WHO, code)
        done = service.client.delete(PATH, params={"end_open": "true"})
        assert (done.status_code, done.json()["erased"]["checkouts"]) == (200, 1)
        assert [one["status"] for one in simulator.sessions()] == ["expired"]
        assert service.get(f"/v1/checkouts/{opened['id']}")["status"] == "cancelled"
        assert service.get("/v1/codes/NORTH-26/usage")["held"] == 0
        assert traces(connection) == set()

    def test_a_payment_that_was_faster_is_a_sale(self, service: Service, simulator: Running, connection: Any) -> None:
        service.code()
        opened = service.open(WHO)
        simulator.drop_events(100)
        simulator.pay(opened["session_id"])
        assert service.client.delete(PATH, params={"end_open": "true"}).status_code == 200
        assert service.get(f"/v1/checkouts/{opened['id']}")["status"] == "paid"
        assert service.get("/v1/codes/NORTH-26/usage")["completed"] == 1
        assert traces(connection) == set()

    def test_a_payment_under_way_is_waited_for(self, service: Service, simulator: Running) -> None:
        service.code()
        simulator.pay_delayed(service.open(WHO)["session_id"])
        for end_open in ("false", "true"):
            refused = service.client.delete(PATH, params={"end_open": end_open})
            assert (refused.status_code, refused.json()["code"]) == (409, "buyer-still-buying")
        assert service.get("/v1/codes/NORTH-26/usage")["pending"] == 1


class TestAfterwards:
    def test_a_refund_and_its_failure_still_settle(
        self, service: Service, simulator: Running, connection: psycopg.Connection[Any]
    ) -> None:
        """The row is found by its session, and nothing of the person comes back with the event."""
        service.code(refund_policy="return")
        opened = service.open(WHO)
        simulator.pay(opened["session_id"])
        sale = service.get(f"/v1/checkouts/{opened['id']}")
        service.client.delete(PATH)
        dealer: stripe.StripeClient = client(simulator.base_url)
        dealer.v1.refunds.create({"payment_intent": sale["payment_intent"]})
        simulator.wait_delivered()
        assert service.get(f"/v1/checkouts/{opened['id']}")["status"] == "refunded"
        assert service.get("/v1/codes/NORTH-26/usage")["completed"] == 0
        assert {one["type"] for one in service.get("/v1/events", limit=100)["data"]} >= {
            "redemption.refunded", "checkout.refunded", "entitlement.revoked",
        }  # fmt: skip
        assert traces(connection) == set()

    def test_a_late_payment_is_honoured(
        self, service: Service, simulator: Running, connection: psycopg.Connection[Any], host: Psycopg
    ) -> None:
        """Released, forgotten, and then paid after all: the place is spent, for nobody."""
        service.code()
        opened = service.open(WHO)
        simulator.drop_events(100)
        simulator.pay(opened["session_id"])
        connection.execute(
            "UPDATE counterfoil.redemption SET status = 'released', released_at = now(), release_reason = 'lapsed'; "
            "UPDATE counterfoil.checkout SET status = 'expired'; UPDATE counterfoil.allocation SET used = 0"
        )
        service.client.delete(PATH)
        service.post(f"/v1/checkouts/{opened['id']}/refresh", status=200)
        assert service.get(f"/v1/checkouts/{opened['id']}")["status"] == "paid"
        assert service.get("/v1/codes/NORTH-26/usage")["completed"] == 1
        assert host.run(verbs.recount()) == []
        assert traces(connection) == set()


def test_a_key_without_manage_may_not(service: Service) -> None:
    anonymous = {"Authorization": "Bearer nothing"}
    assert service.client.delete(PATH, headers=anonymous).status_code == 401
    assert service.client.get(PATH, headers=anonymous).status_code == 401


def test_the_log_says_that_and_not_who(planted: Service) -> None:
    planted.client.delete(PATH)
    entry = planted.get("/v1/audit", action="buyer.forgotten")["data"][0]
    assert (entry["subject"], entry["after"]["redemptions"] > 0) == ("a buyer", True)


class TestOnTheSellersPages:
    @pytest.fixture
    def bought(self, service: Service, simulator: Running) -> Service:
        service.code(cap=5)
        simulator.pay(service.open(WHO)["session_id"])
        return service

    def test_what_is_held(self, bought: Service, staff: httpx.Client) -> None:
        claim = bought.get("/v1/redemptions")["data"][0]
        assert "/admin/buyers?buyer=zq.xwv%40planted.test" in staff.get(f"/admin/redemptions/{claim['id']}").text
        page = staff.get("/admin/buyers", params={"buyer": WHO.upper()})
        assert "1 redemptions, 1 checkouts" in text_of(page)
        assert "Forget" not in page.text
        taken = staff.get("/admin/buyers.json", params={"buyer": WHO})
        assert taken.json() == bought.get(PATH)
        assert "Nothing is held" in staff.get("/admin/buyers", params={"buyer": "bob"}).text
        assert "255 characters" in error_of(staff.get("/admin/buyers", params={"buyer": "x" * 256}), "buyer")

    def test_forgetting(self, bought: Service, signed: SignIn, connection: psycopg.Connection[Any]) -> None:
        owner = signed(Role.OWNER)
        unmeant = owner.post("/admin/buyers/forget", data={"buyer": WHO})
        assert (unmeant.status_code, "cannot be undone" in error_of(unmeant, "meant")) == (422, True)
        assert traces(connection)
        done = owner.post("/admin/buyers/forget", data={"buyer": WHO, "meant": "yes"})
        assert (done.status_code, done.headers["location"]) == (303, "/admin/buyers?told=forgotten")
        assert "They are forgotten" in owner.get(done.headers["location"]).text
        assert traces(connection) == set()
        entry = bought.get("/v1/audit", action="buyer.forgotten")["data"][0]
        assert entry["actor"]["name"] == "owner@seller.test"

    def test_who_is_still_buying(self, bought: Service, signed: SignIn) -> None:
        owner = signed(Role.OWNER)
        opened = bought.open("bob")
        refused = owner.post("/admin/buyers/forget", data={"buyer": "bob", "meant": "yes"})
        assert (refused.status_code, "Nothing was erased" in refused.text) == (409, True)
        done = owner.post("/admin/buyers/forget", data={"buyer": "bob", "meant": "yes", "end_open": "yes"})
        assert done.status_code == 303
        assert bought.get(f"/v1/checkouts/{opened['id']}")["buyer"] == "(forgotten)"

    def test_staff_may_not(self, bought: Service, staff: httpx.Client) -> None:
        assert staff.post("/admin/buyers/forget", data={"buyer": WHO, "meant": "yes"}).status_code == 403
        assert bought.get(PATH)["redemptions"]
