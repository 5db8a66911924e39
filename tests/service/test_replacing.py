"""A code that leaked, from every side: API, seller's pages, school's pages, shop."""

from typing import Any

import httpx
import pytest
from tests.support.admin import SignIn, error_of, fields, text_of
from tests.support.serving import Service

from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service import auth
from counterfoil.service.roles import Role
from counterfoil.simulator import Running

REPLACE = "/admin/codes/n0rth26/replace"


@pytest.fixture
def leaked(service: Service) -> Service:
    service.code(cap=2)
    return service


def replace(service: Service, new: str = "SAFE-26", old: str = "NORTH-26", status: int = 201, **headers: str) -> Any:
    return service.post(f"/v1/codes/{old}/replace", {"code": new}, status=status, **headers)


class TestByTheApi:
    def test_the_old_stops_and_the_count_carries_over(self, leaked: Service, simulator: Running) -> None:
        simulator.pay(leaked.open("a@school.test")["session_id"])
        held = leaked.open("b@school.test")
        new = replace(leaked)
        assert (new["code"], new["paused"], new["replaced_by"], new["cap"]) == ("SAFE-26", False, None, 2)
        assert leaked.open("c@school.test", status=409)["code"] == "code-paused"
        assert leaked.open("c@school.test", "SAFE-26", status=409)["code"] == "allocation-held"
        assert leaked.open("a@school.test", "SAFE-26", status=409)["code"] == "buyer-limit-reached"
        usage = leaked.get("/v1/codes/SAFE-26/usage")
        assert (usage["code"], usage["completed"], usage["held"], usage["remaining"]) == ("SAFE-26", 1, 1, 0)
        simulator.pay(held["session_id"])
        assert leaked.get(f"/v1/checkouts/{held['id']}")["status"] == "paid"

    def test_the_old_says_what_is_in_force(self, leaked: Service) -> None:
        replace(leaked)
        replace(leaked, "SAFER-26", "safe 26")
        for one in ("NORTH-26", "SAFE-26"):
            shown = leaked.get(f"/v1/codes/{one}")
            assert (shown["paused"], shown["replaced_by"]) == (True, "SAFER-26")
        assert [one["code"] for one in leaked.get("/v1/codes")["data"]] == ["SAFER-26", "SAFE-26", "NORTH-26"]

    def test_a_quote_is_as_for_a_paused_one(self, leaked: Service) -> None:
        replace(leaked)
        said = leaked.post("/v1/quotes", {"product": "hub", "code": "NORTH-26"}, status=200)
        assert (said["available"], said["refusal"]) == (False, "code-paused")

    @pytest.mark.parametrize("change", [{"paused": False}, {"paused": True}, {"cap": 5}, {}])
    def test_it_is_changed_no_more(self, leaked: Service, change: dict[str, Any]) -> None:
        replace(leaked)
        said = leaked.client.patch("/v1/codes/NORTH-26", json=change)
        assert (said.status_code, said.json()["code"], said.json()["replaced_by"]) == (409, "code-replaced", "SAFE-26")

    @pytest.mark.parametrize(
        ("old", "body", "status", "code"),
        [
            ("NOBODYS", {"code": "SAFE-26"}, 404, "code-unknown"),
            ("NORTH-26", {"code": "n0rth 26"}, 409, "already-exists"),
            ("NORTH-26", {"code": "--"}, 422, "invalid-request"),
            ("NORTH-26", {"code": "x" * 65}, 422, "invalid-request"),
            ("NORTH-26", {"code": 7}, 422, "invalid-request"),
            ("NORTH-26", {"code": "SAFE-26", "cap": 3}, 422, "invalid-request"),
            ("NORTH-26", {}, 422, "invalid-request"),
            ("NORTH-26", None, 422, "invalid-request"),
        ],
    )
    def test_wrong(self, leaked: Service, old: str, body: Any, status: int, code: str) -> None:
        assert leaked.post(f"/v1/codes/{old}/replace", body, status=status)["code"] == code
        assert leaked.open("a@school.test")

    def test_before(self, leaked: Service) -> None:
        replace(leaked)
        said = replace(leaked, "OTHER", status=409)
        assert (said["code"], said["replaced_by"]) == ("code-replaced", "SAFE-26")

    def test_once_for_one_idempotency_key(self, leaked: Service) -> None:
        sent = {"Idempotency-Key": "k"}
        first = replace(leaked, **sent)
        again = leaked.client.post("/v1/codes/NORTH-26/replace", json={"code": "SAFE-26"}, headers=sent)
        assert (again.status_code, again.json(), again.headers["Idempotent-Replayed"]) == (201, first, "true")

    @pytest.mark.parametrize("scope", ["read", "checkout"])
    def test_it_takes_a_key_that_manages(self, leaked: Service, host: Psycopg, scope: auth.Scope) -> None:
        secret = auth.new_secret()
        host.run(auth.create_key(name="n", scope=scope, secret=secret))
        replace(leaked, status=403, Authorization=f"Bearer {secret}")
        assert leaked.open("a@school.test")

    def test_events_name_the_code_in_force(self, leaked: Service, simulator: Running) -> None:
        replace(leaked)
        for buyer in "ab":
            simulator.pay(leaked.open(f"{buyer}@school.test", "SAFE-26")["session_id"])
        told = [one["data"] for one in leaked.get("/v1/events", limit=100)["data"] if one["type"] == "allocation.full"]
        assert [(one["code"], one["cap"]) for one in told] == [("SAFE-26", 2)]


class TestByThePage:
    def test_replaced(self, leaked: Service, staff: httpx.Client) -> None:
        assert "lets nobody in from this moment on" in text_of(staff.get(REPLACE))
        said = staff.post(REPLACE, data={"code": "Safe 26"})
        assert (said.status_code, said.headers["location"]) == (303, "/admin/codes/safe26?told=code-replaced")
        shown = text_of(staff.get(said.headers["location"]))
        assert "The code was replaced" in shown
        assert "Counts together" not in shown
        old = staff.get("/admin/codes/n0rth26")
        assert "It was replaced by Safe 26" in text_of(old)
        assert ("/edit" in old.text, "/resume" in old.text, "/pause" in old.text) == (False, False, False)
        assert "replaced" in text_of(staff.get("/admin/codes"))
        assert 'href="/admin/codes/safe26/replace"' in staff.get(REPLACE).text

    @pytest.mark.parametrize(("typed", "status"), [("", 422), ("--", 422), ("N0RTH 26", 409), ("x" * 65, 422)])
    def test_wrong(self, leaked: Service, staff: httpx.Client, typed: str, status: int) -> None:
        """Said beside the field, with what was typed still in it."""
        said = staff.post(REPLACE, data={"code": typed})
        assert (said.status_code, fields(said)["code"]) == (status, typed)
        assert error_of(said, "new-code")
        assert leaked.get("/v1/codes/NORTH-26")["replaced_by"] is None

    def test_replaced_meanwhile(self, leaked: Service, staff: httpx.Client) -> None:
        replace(leaked)
        said = staff.post(REPLACE, data={"code": "OTHER"})
        assert (said.status_code, "It was replaced by SAFE-26" in text_of(said)) == (409, True)

    @pytest.mark.parametrize("path", ["resume", "pause", "edit"])
    def test_the_old_stays_as_it_is(self, leaked: Service, staff: httpx.Client, path: str) -> None:
        offered = fields(staff.get("/admin/codes/n0rth26/edit"))
        replace(leaked)
        said = staff.post(f"/admin/codes/n0rth26/{path}", data=offered)
        assert said.status_code == 409
        assert leaked.get("/v1/codes/NORTH-26")["paused"] is True
        assert staff.get("/admin/codes/n0rth26/edit").status_code == 409

    def test_who_may_only_look(self, leaked: Service, signed: SignIn) -> None:
        looking = signed(Role.READ_ONLY)
        assert looking.post(REPLACE, data={"code": "SAFE"}).status_code == 403
        assert "/replace" not in looking.get("/admin/codes/n0rth26").text
        assert leaked.get("/v1/codes/NORTH-26")["replaced_by"] is None

    def test_no_code(self, leaked: Service, staff: httpx.Client) -> None:
        assert staff.get("/admin/codes/nobodys/replace").status_code == 404
        assert staff.post("/admin/codes/nobodys/replace", data={"code": "SAFE"}).status_code == 404


class TestAtTheSchool:
    def test_it_sees_its_new_code(self, leaked: Service, browser: httpx.Client, simulator: Running) -> None:
        """Everywhere, also at the address of the old; and its table has the places of both."""
        simulator.pay(leaked.open("a@school.test")["session_id"])
        replace(leaked, "SAFE-26")
        simulator.pay(leaked.open("b@school.test", "SAFE-26")["session_id"])
        link = leaked.post("/v1/portal-links", {"institution": "northfold"}, status=201)["url"]
        assert browser.post(link).status_code == 303
        home = text_of(browser.get("/portal"))
        assert ("SAFE-26" in home, "NORTH-26" in home) == (True, False)
        for address in ("SAFE-26", "NORTH-26"):
            for page in ("", "/sheet"):
                shown = browser.get(f"/portal/codes/{address}{page}")
                assert (shown.status_code, "SAFE-26" in shown.text, "NORTH-26" in text_of(shown)) == (200, True, False)
        table = browser.get("/portal/codes/SAFE-26/redemptions.csv").text
        assert ("SAFE-26" in table, "NORTH-26" in table) == (True, True)


@pytest.mark.parametrize(
    "discount",
    [{"percent": 50}, {"amount_off": 500, "currency": "usd"}, {"amount_off": 9000, "currency": "gbp"}],
    ids=["good", "of another currency", "more than the price"],
)
def test_a_buyer_is_told_what_is_told_of_an_unknown_code(
    leaked: Service, browser: httpx.Client, discount: dict[str, Any]
) -> None:
    """Of a code that was paused, too: word for word, but for the code that was typed. Whatever it takes off."""
    leaked.code("PAUSED-26", discount=discount)
    leaked.code("LEAKED-26", discount=discount)
    leaked.client.patch("/v1/codes/PAUSED-26", json={"paused": True}).raise_for_status()
    replace(leaked, "OTHER", old="LEAKED-26")

    def told(code: str) -> list[tuple[int, str]]:
        asked = {"code": code, "buyer": "a@school.test"}
        pages = [
            browser.post("/products/hub", data=asked),
            browser.post("/products/hub", data=asked | {"look": "yes"}),
            browser.get("/products/hub", params={"code": code}),
            browser.get("/products/hub/price", params={"code": code}),
        ]
        return [(said.status_code, text_of(said).replace(code, "CODE")) for said in pages]

    unknown = told("NOBODYS")
    assert all("We do not recognise this code." in text for _, text in unknown)
    assert told("LEAKED-26") == told("PAUSED-26") == unknown
