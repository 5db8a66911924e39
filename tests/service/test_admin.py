"""The seller's own pages: who gets in, for how long, and what can be done there."""

from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest
from tests.conftest import Clock
from tests.support.serving import ADMIN_KEY, Service, serving

from counterfoil import embedded, verbs
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service import auth
from counterfoil.service.pages.admin import admin
from counterfoil.service.pages.admin.door import AdminRoute
from counterfoil.simulator import Running

SIGN_IN = "/admin/sign-in"
#: Every page behind the door.
BEHIND = [
    ("GET", "/admin"),
    ("GET", "/admin/attention"),
    ("POST", "/admin/attention/1/resolve"),
    ("GET", "/admin/reconcile"),
    ("POST", "/admin/reconcile"),
    ("POST", "/admin/sign-out"),
    ("GET", "/admin/outbox"),
    ("GET", "/admin/institutions/northfold/people"),
    ("POST", "/admin/institutions/northfold/people"),
    ("POST", "/admin/institutions/northfold/people/1/remove"),
    ("POST", "/admin/institutions/northfold/people/links/1/revoke"),
    ("POST", "/admin/institutions/northfold/people/buyers"),
]


@pytest.fixture
def browser(service: Service) -> Iterator[httpx.Client]:
    """A browser that has no key of its own: only its cookies."""
    with httpx.Client(base_url=service.url, headers={"Accept": "text/html"}, timeout=30, trust_env=False) as client:
        yield client


def key(host: Psycopg, scope: Any = "manage") -> str:
    secret = auth.new_secret()
    host.run(auth.create_key(name=scope, scope=scope, secret=secret))
    return secret


def signed_in(browser: httpx.Client, secret: str = ADMIN_KEY) -> httpx.Client:
    said = browser.post(SIGN_IN, data={"key": secret})
    assert (said.status_code, said.headers["location"]) == (303, "/admin/attention")
    return browser


def is_in(browser: httpx.Client) -> bool:
    said = browser.get("/admin/attention")
    assert said.status_code in (200, 303)
    assert said.status_code == 200 or said.headers["location"] == SIGN_IN
    return said.status_code == 200


class TestTheDoor:
    @pytest.mark.parametrize(("method", "path"), BEHIND)
    def test_whoever_is_not_signed_in_is_sent_to_sign_in(
        self, browser: httpx.Client, host: Psycopg, method: str, path: str
    ) -> None:
        """And nothing is done. A key in a header is no ticket."""
        host.run(verbs.raise_attention(kind="drift", subject="cs_1", detail={}))
        for headers in ({}, {"Authorization": f"Bearer {ADMIN_KEY}"}):
            said = browser.request(method, path, headers=headers)
            assert (said.status_code, said.headers["location"]) == (303, SIGN_IN)
            assert "cs_1" not in said.text
        assert browser.get(SIGN_IN).status_code == 200

    def test_every_page_is_behind_it(self, service: Service) -> None:
        """Those listed here are all there are."""
        listed = {(method, path.replace("/1/", "/{id}/").replace("northfold", "{slug}")) for method, path in BEHIND}
        routes = {
            (method, route.path, type(route)) for one in admin for route in one.routes for method in route.methods
        }
        assert {(method, path) for method, path, kind in routes if kind is AdminRoute} == listed
        before = {("GET", SIGN_IN), ("POST", SIGN_IN)}
        assert {(method, path) for method, path, kind in routes if kind is not AdminRoute} == before

    def test_the_admin_key(self, browser: httpx.Client) -> None:
        assert not is_in(browser)
        signed_in(browser)
        assert is_in(browser)
        assert browser.get("/admin").headers["location"] == "/admin/attention"

    def test_the_cookie(self, browser: httpx.Client, host: Psycopg) -> None:
        """No key in it; not for scripts, not for other sites' pages, not for the shop."""
        secret = key(host)
        said = browser.post(SIGN_IN, data={"key": f" {secret} "})
        cookie = said.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert "Path=/admin" in cookie
        assert "Max-Age=28800" in cookie
        assert secret not in cookie
        assert auth.digest(secret).hex() not in cookie
        assert "Secure" not in cookie

    def test_over_https_it_is_secure(self, server: embedded.Server, database: str, simulator: Running) -> None:
        with serving(server.url, simulator, COUNTERFOIL_PUBLIC_URL="https://shop.test") as service:
            said = httpx.post(f"{service.url}{SIGN_IN}", data={"key": ADMIN_KEY}, trust_env=False)
        assert "Secure" in said.headers["set-cookie"]

    @pytest.mark.parametrize("scope", ["checkout", "read"])
    def test_a_key_that_does_not_reach(self, browser: httpx.Client, host: Psycopg, scope: str) -> None:
        said = browser.post(SIGN_IN, data={"key": key(host, scope)})
        assert (said.status_code, "does not reach manage" in said.text) == (403, True)
        assert "set-cookie" not in said.headers
        signed_in(browser)

    @pytest.mark.parametrize("wrong", ["", "nonsense", ADMIN_KEY + "x", "\x00", "é" * 200])
    def test_what_is_no_key(self, browser: httpx.Client, wrong: str) -> None:
        said = browser.post(SIGN_IN, data={"key": wrong})
        assert (said.status_code, "not recognised" in said.text) == (403, True)
        assert not is_in(browser)
        signed_in(browser)

    def test_a_revoked_key_is_out_at_once(self, browser: httpx.Client, host: Psycopg) -> None:
        signed_in(browser, key(host))
        assert is_in(browser)
        for one in host.run(auth.keys()):
            host.run(auth.revoke_key(one.id))
        assert not is_in(browser)

    def test_after_eight_hours_it_is_over(self, browser: httpx.Client, clock: Clock) -> None:
        signed_in(browser)
        clock.advance(hours=7, minutes=59)
        assert is_in(browser)
        clock.advance(minutes=2)
        assert not is_in(browser)

    def test_signed_out(self, browser: httpx.Client) -> None:
        signed_in(browser)
        said = browser.post("/admin/sign-out")
        assert (said.status_code, said.headers["location"]) == (303, SIGN_IN)
        assert not is_in(browser)

    def test_a_ticket_that_was_changed(self, browser: httpx.Client, host: Psycopg) -> None:
        """Another key's id, a later end, another signature: none is good."""
        signed_in(browser, key(host))
        ticket = browser.cookies["counterfoil_admin"]
        id, ends, signature = ticket.split(".")
        browser.cookies.clear()
        for changed in (
            f"0.{ends}.{signature}", f"{id}.{int(ends) + 1}.{signature}", f"{id}.{ends}.{'0' * 64}", f"{id}.{ends}.",
            f"{id}.99999999999.{signature}", "", "x", "é",
        ):  # fmt: skip
            cookie = f"counterfoil_admin={changed}".encode()
            assert browser.get("/admin/attention", headers=[(b"cookie", cookie)]).status_code == 303
        assert browser.get("/admin/attention", headers={"cookie": f"counterfoil_admin={ticket}"}).status_code == 200

    def test_another_admin_key_ends_its_tickets(
        self, browser: httpx.Client, server: embedded.Server, simulator: Running
    ) -> None:
        signed_in(browser)
        cookie = {"cookie": f"counterfoil_admin={browser.cookies['counterfoil_admin']}"}
        for changed, status in ((ADMIN_KEY, 200), (ADMIN_KEY + "-changed", 303)):
            with serving(server.url, simulator, COUNTERFOIL_ADMIN_KEY=changed) as other:
                said = httpx.get(f"{other.url}/admin/attention", headers=cookie, trust_env=False)
            assert said.status_code == status

    @pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://elsewhere.test"}])
    def test_forms_of_other_sites_do_nothing(
        self, browser: httpx.Client, host: Psycopg, headers: dict[str, str]
    ) -> None:
        assert browser.post(SIGN_IN, data={"key": ADMIN_KEY}, headers=headers).status_code == 403
        signed_in(browser)
        host.run(verbs.raise_attention(kind="drift", subject="cs_1", detail={}))
        for method, path in BEHIND:
            if method == "POST":
                assert browser.post(path, headers=headers).status_code == 403
        assert is_in(browser)
        assert "cs_1" in browser.get("/admin/attention").text

    def test_ten_wrong_keys_and_it_waits(self, server: embedded.Server, database: str, simulator: Running) -> None:
        with (
            serving(server.url, simulator) as service,
            httpx.Client(base_url=service.url, headers={"Accept": "text/html"}, trust_env=False) as browser,
        ):
            for _ in range(10):
                assert browser.post(SIGN_IN, data={"key": "wrong"}).status_code == 403
            said = browser.post(SIGN_IN, data={"key": ADMIN_KEY})
            assert said.status_code == 429
            assert 0 < int(said.headers["retry-after"]) <= 900
            assert "Try again in 15 minutes" in said.text
            # The form itself, and the API, are as they were.
            assert browser.get(SIGN_IN).status_code == 200
            service.get("/v1/codes")


class TestAttention:
    def test_listed_and_resolved(self, browser: httpx.Client, host: Psycopg) -> None:
        signed_in(browser)
        assert "Nothing." in browser.get("/admin/attention").text
        host.run(verbs.raise_attention(kind="dispute", subject="pi_<b>", detail={"checkout": "c", "disputes": {}}))
        shown = browser.get("/admin/attention").text
        assert "disputes payment pi_&lt;b&gt;" in shown
        assert "dashboard before its deadline" in shown
        path = shown.partition('action="/admin/attention/')[2].partition('"')[0]
        said = browser.post(f"/admin/attention/{path}")
        assert (said.status_code, said.headers["location"]) == (303, "/admin/attention")
        assert "Nothing." in browser.get("/admin/attention").text
        assert "pi_&lt;b&gt;" in browser.get("/admin/attention?resolved=true").text
        for unknown in ("999999", "x"):
            assert browser.post(f"/admin/attention/{unknown}/resolve").status_code == 404

    def test_page_by_page(self, browser: httpx.Client, host: Psycopg) -> None:
        signed_in(browser)
        for number in range(51):
            host.run(verbs.raise_attention(kind="drift", subject=f"cs_{number:03}", detail={}))
        first = browser.get("/admin/attention").text
        assert ("cs_050" in first, "cs_001" in first, "cs_000" in first) == (True, True, False)
        older = browser.get(first.partition('<a href="/admin/attention?after=')[2].partition('"')[0].join(
            ("/admin/attention?after=", "")
        ))  # fmt: skip
        assert ("cs_000" in older.text, "cs_001" in older.text, "Older" in older.text) == (True, False, False)
        assert browser.get("/admin/attention?after=x").status_code == 422


class TestReconcile:
    @pytest.fixture
    def unheard(self, service: Service, simulator: Running) -> Any:
        """A payment of which no event came."""
        service.code()
        opened = service.open("a@school.test")
        simulator.drop_events(99)
        simulator.pay(opened["session_id"])
        simulator.drop_events(0)
        return opened

    def test_looking_changes_nothing_and_applying_settles(
        self, service: Service, browser: httpx.Client, unheard: Any, connection: psycopg.Connection[Any]
    ) -> None:
        signed_in(browser)
        assert "Looking changes nothing" in browser.get("/admin/reconcile").text
        for _ in range(2):
            looked = browser.post("/admin/reconcile", data={"days": "7"})
            assert looked.status_code == 200
            assert "1 differ" in looked.text
            assert unheard["session_id"] in looked.text
            assert "complete it" in looked.text
            assert 'name="apply"' in looked.text
        assert service.get(f"/v1/checkouts/{unheard['id']}")["status"] == "open"
        applied = browser.post("/admin/reconcile", data={"days": "7", "apply": "yes"})
        assert "1 settled, 0 left over" in applied.text
        assert 'name="apply"' not in applied.text
        assert service.get(f"/v1/checkouts/{unheard['id']}")["status"] == "paid"
        assert "no drift" in browser.post("/admin/reconcile", data={"days": "7"}).text

    @pytest.mark.parametrize("days", ["", "0", "31", "x", "-1", "9" * 40, "²"])
    def test_days_that_are_none(self, browser: httpx.Client, days: str) -> None:
        signed_in(browser)
        assert browser.post("/admin/reconcile", data={"days": days}).status_code == 422
