"""Redemptions, found and looked at; places given back by hand: over HTTP."""

from __future__ import annotations

import csv
import io
import re
from typing import Any
from uuid import uuid4

import httpx
import pytest
from tests.conftest import Clock
from tests.support.admin import text_of
from tests.support.serving import Service

from counterfoil.simulator import Fault, Running

LIST = "/admin/redemptions"


def buyers(page: httpx.Response) -> list[str]:
    """The buyers of a list, in its order."""
    assert page.status_code == 200
    return re.findall(r'<th scope="row"><a href="/admin/redemptions/[^"]+">([^<]+)</a>', page.text)


def status(service: Service, sale: Any) -> str:
    return str(service.get(f"/v1/redemptions/{sale['redemption']['id']}")["status"])


class TestTheList:
    def test_found_by_what_one_has(self, staff: httpx.Client, service: Service, simulator: Running) -> None:
        """A session, a former one, a payment, an id of either kind, a code however typed, how a buyer begins."""
        service.code(cap=9)
        service.code("NORTH-27", cap=9)
        first = service.open("ann@school.test")
        simulator.pay(first["session_id"])
        service.open("anna@school.test", "NORTH-27")
        service.open("bob@school.test", "NORTH-27")
        intent = service.get(f"/v1/checkouts/{first['id']}")["payment_intent"]
        for typed in (first["session_id"], intent, first["id"], first["redemption"]["id"], "ann@", "ANN@school.test"):
            assert buyers(staff.get(LIST, params={"q": typed})) == ["ann@school.test"], typed
        assert buyers(staff.get(LIST, params={"q": "ann"})) == ["anna@school.test", "ann@school.test"]
        for typed in ("north 27", "N0RTH27"):
            assert buyers(staff.get(LIST, params={"q": typed})) == ["bob@school.test", "anna@school.test"], typed
        assert "Those of the code" in text_of(staff.get(LIST, params={"q": "north 27"}))
        for typed in ("zed", "cs_test_none", "pi_none", str(uuid4()), "%", "_", "'", "\0"):
            assert buyers(staff.get(LIST, params={"q": typed})) in ([], buyers(staff.get(LIST))), typed
        assert buyers(staff.get(LIST, params={"q": "%"})) == []

    def test_a_buyer_named_like_a_code(self, staff: httpx.Client, service: Service) -> None:
        """The code is found first, and the page leads on to the buyer."""
        service.code("ANN")
        service.code()
        service.open("ann")
        said = staff.get(LIST, params={"q": "ann"})
        assert "No redemption fits" in said.text or "Look for a buyer" in said.text
        assert buyers(staff.get(LIST, params={"q": "ann", "buyer": "yes"})) == ["ann"]

    def test_filters_together(self, staff: httpx.Client, service: Service, simulator: Running) -> None:
        service.code(cap=9)
        service.post("/v1/institutions", {"name": "Southfold", "time_zone": "UTC"}, status=201)
        service.code("SOUTH-1", cap=9, institution="southfold")
        simulator.pay(service.open("a@school.test")["session_id"])
        service.open("b@school.test")
        service.open("c@school.test", "SOUTH-1")
        period = service.get("/v1/codes/NORTH-26")["period"]
        for query, expected in (
            ({"status": "completed"}, ["a@school.test"]),
            ({"status": "reserved"}, ["c@school.test", "b@school.test"]),
            ({"status": "reserved", "institution": "northfold"}, ["b@school.test"]),
            ({"institution": "southfold"}, ["c@school.test"]),
            ({"code": "south 1", "period": period}, ["c@school.test"]),
            ({"code": "NORTH-26", "q": "b@"}, ["b@school.test"]),
            ({"period": "1999-00"}, []),
            ({"status": "made up"}, []),
            ({"institution": "nobody"}, []),
            ({"code": "NOBODYS"}, []),
        ):
            said = staff.get(LIST, params=query)
            assert buyers(said) == expected, query
            assert ("No redemption fits" in said.text) == (not expected)

    def test_page_by_page(self, staff: httpx.Client, service: Service) -> None:
        """Each once, newest first; the filter goes along."""
        service.code(cap=None, per_buyer_limit=None)
        for number in range(53):
            service.open(f"b{number:02}@school.test")
        seen: list[str] = []
        address: str | None = f"{LIST}?code=NORTH-26"
        while address:
            said = staff.get(address)
            seen += buyers(said)
            older = re.search(r'href="([^"]+)" rel="next"', said.text)
            address = older[1].replace("&amp;", "&") if older else None
            assert address is None or "code=NORTH-26" in address
        assert seen == [f"b{number:02}@school.test" for number in reversed(range(53))]
        assert staff.get(LIST, params={"after": "nonsense"}).status_code == 422

    def test_as_csv(self, staff: httpx.Client, service: Service) -> None:
        """What is searched and no more; a cell that a spreadsheet would reckon with is defused."""
        service.code(cap=9)
        service.open("=1+1@school.test")
        service.open("bob@school.test")
        said = staff.get(f"{LIST}.csv", params={"q": "="})
        assert said.headers["content-type"].startswith("text/csv")
        rows = list(csv.DictReader(io.StringIO(said.text)))
        assert [row["buyer"] for row in rows] == ["'=1+1@school.test"]
        assert staff.get(f"{LIST}.csv", params={"status": "made up"}).status_code == 404


class TestOneRedemption:
    def test_all_about_it(self, staff: httpx.Client, service: Service, simulator: Running) -> None:
        service.code()
        sale = service.open("a@school.test", metadata={"order": "<b>7"})
        path = f"{LIST}/{sale['redemption']['id']}"
        said = staff.get(path)
        assert "The place frees itself at" in text_of(said)
        assert sale["session_id"] in said.text
        assert ("&lt;b&gt;7" in said.text, "<b>7" in said.text) == (True, False)
        assert ("£20.00" in said.text, "£10.00" in said.text) == (True, True)
        assert (f'href="{path}/release"' in said.text, f'href="{path}/return"' in said.text) == (True, False)
        simulator.pay(sale["session_id"])
        said = staff.get(path)
        assert "the place is spent" in said.text
        assert service.get(f"/v1/checkouts/{sale['id']}")["payment_intent"] in said.text
        # Something was paid: the money goes back at Stripe, not here.
        assert ("/release" in said.text, "/return" in said.text) == (False, False)
        assert "refund the payment at Stripe" in said.text

    def test_there_is_none(self, staff: httpx.Client, service: Service) -> None:
        for id in ("x", str(uuid4()), "0" * 40):
            for path in (f"{LIST}/{id}", f"{LIST}/{id}/release", f"{LIST}/{id}/return"):
                assert staff.get(path).status_code == 404, path


class TestReleasing:
    def test_says_what_it_does_and_does_it(self, staff: httpx.Client, service: Service, simulator: Running) -> None:
        service.code(cap=1)
        sale = service.open("a@school.test")
        path = f"{LIST}/{sale['redemption']['id']}"
        said = staff.get(f"{path}/release")
        assert "The payment page is closed at Stripe first." in said.text
        assert status(service, sale) == "reserved"
        said = staff.post(f"{path}/release")
        assert (said.status_code, said.headers["location"]) == (303, f"{path}?told=released")
        assert status(service, sale) == "released"
        assert simulator.session(sale["session_id"])["status"] == "expired"
        service.open("b@school.test")
        shown = text_of(staff.get(path))
        assert "The place was given back: by hand." in shown
        assert "There is nothing to release: it is released by now." in text_of(staff.get(f"{path}/release"))
        assert staff.post(f"{path}/release").headers["location"] == f"{path}?told=nothing-to-release"

    def test_paid_before_we_heard_of_it(self, staff: httpx.Client, service: Service, simulator: Running) -> None:
        """The payment counts, and so it is told."""
        service.code(cap=1)
        sale = service.open("a@school.test")
        simulator.hold_events()
        simulator.pay(sale["session_id"])
        said = staff.post(f"{LIST}/{sale['redemption']['id']}/release")
        assert said.headers["location"].endswith("?told=paid-after-all")
        assert status(service, sale) == "completed"
        simulator.release_events()

    def test_stripe_not_reached(self, staff: httpx.Client, service: Service, simulator: Running) -> None:
        """Nothing is given back, and the page can be sent again."""
        service.code(cap=1)
        sale = service.open("a@school.test")
        path = f"{LIST}/{sale['redemption']['id']}/release"
        simulator.fail_next(Fault("refuse", "*", "*", times=9))
        said = staff.post(path)
        assert said.status_code == 502
        assert "Nothing was given back." in said.text
        assert f'action="{path}"' in said.text
        assert status(service, sale) == "reserved"

    def test_back_to_where_the_button_was(self, staff: httpx.Client, service: Service) -> None:
        service.code()
        sale = service.open("a@school.test")
        path = f"{LIST}/{sale['redemption']['id']}/release"
        assert 'name="back" value="code"' in staff.get(path, params={"back": "code"}).text
        assert "evil" not in staff.get(path, params={"back": "https://evil.test"}).text
        said = staff.post(path, data={"back": "code"})
        assert re.fullmatch(r"/admin/codes/n0rth26\?period=[0-9-]+&told=released", said.headers["location"])

    def test_a_lapsed_one(self, staff: httpx.Client, service: Service, simulator: Running, clock: Clock) -> None:
        service.code(cap=1)
        sale = service.open("a@school.test")
        simulator.drop_events(99)
        clock.advance(minutes=45)
        path = f"{LIST}/{sale['redemption']['id']}"
        assert "Its time is over, so its place is free." in text_of(staff.get(path))
        assert staff.post(f"{path}/release").headers["location"] == f"{path}?told=released"
        assert status(service, sale) == "released"


class TestReturning:
    @pytest.fixture
    def gift(self, service: Service, simulator: Running) -> Any:
        """A place that was given for nothing."""
        service.code("GIFT", cap=1, discount={"percent": 100})
        sale = service.open("a@school.test", "GIFT")
        simulator.pay(sale["session_id"])
        return sale

    def test_a_free_one(self, staff: httpx.Client, service: Service, gift: Any) -> None:
        path = f"{LIST}/{gift['redemption']['id']}"
        assert f'href="{path}/return"' in staff.get(path).text
        assert "What the purchase unlocked for a@school.test is taken back." in text_of(staff.get(f"{path}/return"))
        assert status(service, gift) == "completed"
        said = staff.post(f"{path}/return")
        assert (said.status_code, said.headers["location"]) == (303, f"{path}?told=returned")
        assert status(service, gift) == "refunded"
        assert service.get("/v1/entitlements", buyer="a@school.test")["data"] == []
        assert staff.post(f"{path}/return").headers["location"] == f"{path}?told=not-returned"

    def test_not_a_paid_one(self, staff: httpx.Client, service: Service, simulator: Running) -> None:
        """The page says where the money goes back, and has no button; a form sent all the same changes nothing."""
        service.code()
        sale = service.open("a@school.test")
        simulator.pay(sale["session_id"])
        path = f"{LIST}/{sale['redemption']['id']}"
        said = staff.get(f"{path}/return")
        assert "£10.00 was paid for it. Refund the payment at Stripe" in text_of(said)
        assert f'action="{path}/return"' not in said.text
        assert staff.post(f"{path}/return").headers["location"] == f"{path}?told=not-returned"
        assert status(service, sale) == "completed"
