"""One mailbox, many addresses: counted as one where the code says so, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from tests.support.admin import error_of, text_of
from tests.support.serving import Service

from counterfoil.simulator import Running

ALIASES = ["ann.lee@gmail.com", "annlee+2@gmail.com", "AnnLee@googlemail.com"]


@pytest.fixture
def strict(service: Service) -> Service:
    """A code that counts by mailboxes."""
    assert service.code(cap=5, buyer_identity="mailbox")["buyer_identity"] == "mailbox"
    return service


def test_by_address_each_alias_is_a_buyer(service: Service, simulator: Running) -> None:
    assert service.code(cap=5)["buyer_identity"] == "address"
    for alias in ALIASES:
        simulator.pay(service.open(alias)["session_id"])
    assert service.get("/v1/codes/NORTH-26/usage")["completed"] == 3


def test_by_mailbox_they_are_one(strict: Service, simulator: Running) -> None:
    bought = strict.open(ALIASES[0])
    simulator.pay(bought["session_id"])
    for alias in ALIASES:
        refused = strict.open(alias, status=409)
        assert (refused["code"], refused["checkout"]) == ("buyer-limit-reached", bought["id"])
        quoted = strict.post("/v1/quotes", {"product": "hub", "code": "NORTH-26", "buyer": alias}, status=200)
        assert quoted["refusal"] == "buyer-limit-reached"
    simulator.pay(strict.open("annlee@outlook.com")["session_id"])
    assert strict.get("/v1/codes/NORTH-26/usage")["completed"] == 2


def test_a_reference_of_the_shops_own_stays_as_it_is(strict: Service) -> None:
    assert {strict.open(one)["id"] for one in ("user-7", "user-7+x", "User-7")}.__len__() == 3


def test_at_another_address_the_place_moves_to_it(strict: Service, simulator: Running) -> None:
    """What is bought belongs to the address that was given last; there is one place, and one payment page."""
    first = strict.open(ALIASES[0])
    again = strict.open(ALIASES[0], status=200)
    moved = strict.open(ALIASES[1])
    assert again["id"] == first["id"] != moved["id"]
    assert [one["id"] for one in simulator.sessions() if one["status"] == "open"] == [moved["session_id"]]
    assert strict.get(f"/v1/checkouts/{first['id']}")["redemption"]["release_reason"] == "superseded"
    simulator.pay(moved["session_id"])
    assert [strict.get("/v1/entitlements", buyer=one)["data"] != [] for one in ALIASES] == [False, True, False]
    assert strict.get("/v1/checkouts", buyer=ALIASES[1])["data"][0]["buyer"] == ALIASES[1]
    usage = strict.get("/v1/codes/NORTH-26/usage")
    assert (usage["completed"], usage["held"]) == (1, 0)


@pytest.mark.parametrize("root", ["address", "mailbox"])
def test_a_pool_has_one_rule(service: Service, simulator: Running, root: str) -> None:
    """That of the code whose places they are: it is shown, and another is refused."""
    service.code(cap=5, buyer_identity=root)
    beside = {"institution": "northfold", "cap": None, "discount": {"percent": 10}, "counts_with": "north-26"}
    assert service.post("/v1/codes", beside | {"code": "A"}, status=201)["buyer_identity"] == root
    assert (
        service.post("/v1/codes", beside | {"code": "B", "buyer_identity": root}, status=201)["buyer_identity"] == root
    )
    other = "mailbox" if root == "address" else "address"
    refused = service.post("/v1/codes", beside | {"code": "C", "buyer_identity": other}, status=422)
    assert refused["errors"][0]["field"] == "buyer_identity"
    assert service.get("/v1/codes/C", status=404)
    simulator.pay(service.open(ALIASES[0], "A")["session_id"])
    assert service.open(ALIASES[1], "B", status=None).get("code") == (
        "buyer-limit-reached" if root == "mailbox" else None
    )


def test_the_rule_is_fixed(strict: Service) -> None:
    refused = strict.client.patch("/v1/codes/NORTH-26", json={"buyer_identity": "address"})
    assert refused.status_code == 422
    assert strict.get("/v1/codes/NORTH-26")["buyer_identity"] == "mailbox"
    bad = {"institution": "northfold", "code": "X", "cap": 1, "discount": {"percent": 50}, "buyer_identity": "name"}
    assert strict.post("/v1/codes", bad, status=422)["errors"][0]["field"] == "buyer_identity"


def test_on_the_sellers_pages(staff: httpx.Client, service: Service) -> None:
    service.code()
    form = {"code": "PARK", "cap": "5", "kind": "percent", "value": "50", "currency": "gbp", "per_buyer": "1"}
    form |= {"refund_policy": "keep", "calendar": "academic_year", "buyer_identity": "mailbox"}
    assert staff.post("/admin/institutions/northfold/new-code", data=form).status_code == 303
    assert service.get("/v1/codes/PARK")["buyer_identity"] == "mailbox"
    assert "If their addresses reach one mailbox" in text_of(staff.get("/admin/codes/park"))
    said = staff.post("/admin/institutions/northfold/new-code", data=form | {"code": "P2", "counts_with": "NORTH-26"})
    assert (said.status_code, "NORTH-26 tells buyers apart" in error_of(said, "buyer_identity")) == (422, True)


def test_a_guest_on_the_public_page(browsers: Callable[[], httpx.Client], strict: Service, simulator: Running) -> None:
    """Without an account: the address that is typed decides."""
    guest = browsers()

    def buy(address: str) -> httpx.Response:
        return guest.post("/products/hub", data={"buyer": address, "code": "NORTH-26"}, headers={"Origin": strict.url})

    assert buy(ALIASES[0]).status_code == 303
    simulator.pay(simulator.sessions()[0]["id"])
    assert buy(ALIASES[1]).status_code == 409
