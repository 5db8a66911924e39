"""However a code is typed, and wherever: it is found."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from tests.support.admin import SignIn, text_of
from tests.support.serving import Service

from counterfoil.service.roles import Role

#: One of each kind of `tests/support/typed.py`. None has a slash, which ends a part of an address.
TYPED = [
    "NORTHFOLD-26", "n0rthfoid 26", "  northfold–26  ", "“NORTHFOLD-26”", "**NORTHFOLD-26.**",
    "NORTH\u200bFOLD\u00ad-26",
    "ＮＯＲＴＨＦＯＬＤ－２６", "NORTHFOLD-\r\n26", "\tNORTHFOLD-26\t", "=NORTHFOLD-26",
    "#NORTHFOLD-26?", "N%ORTHFOLD&+26",
]  # fmt: skip
IDS = range(len(TYPED))

Found = Callable[[str], bool]


@pytest.fixture
def shop(service: Service) -> Service:
    """The code, with a place that is held."""
    service.code("NORTHFOLD-26", cap=500)
    service.open("held@school.test", "NORTHFOLD-26")
    return service


@pytest.mark.parametrize("typed", TYPED, ids=IDS)
def test_in_the_paths_of_the_api(shop: Service, typed: str) -> None:
    path = f"/v1/codes/{quote(typed, safe='')}"
    assert shop.get(path)["code"] == "NORTHFOLD-26"
    assert shop.get(f"{path}/usage")["held"] == 1
    period = shop.get(f"{path}/allocations")["data"][0]["period"]
    assert shop.client.put(f"{path}/allocations/{period}", json={"cap": 7}).json()["cap"] == 7
    assert shop.client.patch(path, json={"cap": 9}).json()["cap"] == 9
    assert shop.post(f"{path}/replace", {"code": "NEW"}, status=201)["counts_with"] == "NORTHFOLD-26"


@pytest.mark.parametrize("typed", TYPED, ids=IDS)
def test_in_the_queries_and_bodies_of_the_api(shop: Service, typed: str) -> None:
    assert len(shop.get("/v1/redemptions", code=typed)["data"]) == 1
    table = shop.client.get("/v1/redemptions.csv", params={"code": typed}).text
    assert len(table.splitlines()) == 2
    assert shop.post("/v1/quotes", {"product": "hub", "code": typed}, status=200)["discount_amount"] == 1000
    assert shop.open("a@school.test", typed)["redemption"]["code"] == "NORTHFOLD-26"
    assert shop.code("BESIDE", counts_with=typed)["counts_with"] == "NORTHFOLD-26"


@pytest.mark.parametrize("typed", TYPED, ids=IDS)
def test_in_the_shop(shop: Service, browser: httpx.Client, typed: str) -> None:
    for path in ("/products/hub", "/products/hub/price"):
        assert "Northfold gives you this price" in text_of(browser.get(path, params={"code": typed}))
    asked = {"code": typed, "buyer": "a@school.test"}
    assert "Northfold gives you this price" in text_of(browser.post("/products/hub", data=asked | {"look": "yes"}))
    said = browser.post("/products/hub", data=asked)
    assert (said.status_code, said.headers["location"].startswith("/checkouts/")) == (303, True)


@pytest.mark.parametrize("typed", TYPED, ids=IDS)
def test_on_the_sellers_pages(shop: Service, signed: SignIn, typed: str) -> None:
    staff = signed(Role.STAFF)
    path = f"/admin/codes/{quote(typed, safe='')}"
    for page in ("", "/cap", "/edit", "/replace"):
        assert "NORTHFOLD-26" in text_of(staff.get(f"{path}{page}"))
    assert "held@school.test" in text_of(staff.get("/admin/redemptions", params={"code": typed}))
    assert "held@school.test" in text_of(staff.get("/admin/redemptions", params={"q": typed}))
    assert "50 % off" in text_of(staff.get("/admin/codes", params={"q": typed}))
    for action in ("pause", "resume"):
        assert staff.post(f"{path}/{action}").headers["location"].startswith("/admin/codes/n0rthf01d26?")
    line = typed.replace('"', '""')
    beside = f'code,cap,percent,counts_with\nWITH,1,50,"{line}"\n"{line}",1,50,\n'
    shown = staff.post("/admin/institutions/northfold/import", files={"file": ("c.csv", beside.encode(), "text/csv")})
    assert "counts with" in text_of(shown)
    assert ("to count with" in text_of(shown), "letters" in text_of(shown)) == (False, False)


@pytest.mark.parametrize("typed", TYPED, ids=IDS)
def test_on_the_schools_pages(shop: Service, browser: httpx.Client, typed: str) -> None:
    link = shop.post("/v1/portal-links", {"institution": "northfold"}, status=201)["url"]
    assert browser.post(link).status_code == 303
    path = f"/portal/codes/{quote(typed, safe='')}"
    for page in ("", "/sheet"):
        shown = browser.get(f"{path}{page}")
        assert (shown.status_code, "NORTHFOLD-26" in shown.text) == (200, True)
    assert len(browser.get(f"{path}/redemptions.csv").text.splitlines()) == 2
    assert browser.post(f"{path}/more", data={"more": "5", "reason": ""}).status_code == 303


@pytest.mark.parametrize("wrong", ["", "--", "🙂", "x" * 251])
def test_what_is_no_code_finds_none(shop: Service, browser: httpx.Client, wrong: str) -> None:
    """By no entrance, and is an accident at none."""
    answers: list[Any] = [
        shop.client.post("/v1/quotes", json={"product": "hub", "code": wrong}),
        shop.client.post("/v1/checkouts", json=shop.order("a@school.test", wrong)),
        shop.client.get("/v1/redemptions", params={"code": wrong}),
        shop.client.get(f"/v1/codes/{quote(wrong or '.', safe='')}/usage"),
    ]
    assert {said.status_code for said in answers} <= {404, 422}
    said = browser.get("/products/hub/price", params={"code": wrong})
    assert ("gives you this price" in said.text, said.status_code) == (False, 200)
