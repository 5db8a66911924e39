"""
Who may do what, route by route: read from the application's own routes, so that a route without a rule fails.

The seller's pages declare their role where they are declared; the API its scope. All else is in the table `RULES`.
"""

from __future__ import annotations

import html
from typing import Any

import httpx
import psycopg
import pytest
from fastapi import APIRouter
from tests.support.admin import SIGN_IN, SignIn
from tests.support.route_table import application, methods_of, routes_of
from tests.support.serving import ADMIN_KEY, Service

from counterfoil import verbs
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service.openapi import SCOPE
from counterfoil.service.pages.admin.door import ROLE, AdminRoute, Role
from counterfoil.service.pages.portal.door import PortalRoute
from counterfoil.service.routing import ScopedRoute

#: Anybody may, and is told nothing about anybody.
ANYBODY = "anybody"
#: Shows or changes what a browser began, to that browser alone.
ITS_BROWSER = "its browser"
#: Shows or changes what is of one institution, to whoever belongs to it: walked in test_portal.py.
ITS_INSTITUTION = "its institution"
#: A signature or a key of its own kind, tested where that is.
ITS_OWN = "its own"

RULES: dict[tuple[str, str], str] = {
    ("GET", "/"): ANYBODY,
    ("GET", "/products/{id}"): ANYBODY,
    ("GET", "/products/{id}/price"): ANYBODY,
    ("POST", "/products/{id}"): ANYBODY,
    ("GET", "/products/{id}/back"): ITS_BROWSER,
    ("GET", "/checkouts/{id}"): ITS_BROWSER,
    ("POST", "/checkouts/{id}/cancel"): ITS_BROWSER,
    ("GET", "/purchases"): ITS_BROWSER,
    ("GET", "/purchases/{session_id}"): ITS_BROWSER,
    ("GET", "/learn/{unlock}"): ITS_BROWSER,
    ("GET", "/problems/{code}"): ANYBODY,
    ("GET", "/docs"): ANYBODY,
    ("GET", "/openapi.json"): ANYBODY,
    ("GET", "/static"): ANYBODY,
    ("GET", "/healthz"): ANYBODY,
    ("GET", "/readyz"): ANYBODY,
    # From this machine, or with a key: test_metrics.py.
    ("GET", "/metrics"): ITS_OWN,
    # With Stripe's signature: test_webhook.py.
    ("POST", "/webhooks/stripe"): ITS_OWN,
    # Before the door of an institution's pages, and behind it.
    ("GET", "/portal"): ANYBODY,
    ("POST", "/portal/sign-in"): ANYBODY,
    ("GET", "/portal/links/{token}"): ITS_OWN,
    ("POST", "/portal/links/{token}"): ITS_OWN,
    ("GET", "/portal/addresses/{token}"): ITS_OWN,
    ("POST", "/portal/addresses/{token}"): ITS_OWN,
    ("GET", "/portal/codes/{code}"): ITS_INSTITUTION,
    ("GET", "/portal/codes/{code}/sheet"): ITS_INSTITUTION,
    ("GET", "/portal/codes/{code}/redemptions.csv"): ITS_INSTITUTION,
    ("POST", "/portal/codes/{code}/more"): ITS_INSTITUTION,
    ("GET", "/portal/alerts"): ITS_INSTITUTION,
    ("POST", "/portal/alerts"): ITS_INSTITUTION,
    ("GET", "/portal/people"): ITS_INSTITUTION,
    ("POST", "/portal/people"): ITS_INSTITUTION,
    ("POST", "/portal/people/me"): ITS_INSTITUTION,
    ("POST", "/portal/people/{id}/remove"): ITS_INSTITUTION,
    ("POST", "/portal/people/links/{id}/revoke"): ITS_INSTITUTION,
    ("POST", "/portal/sign-out"): ITS_INSTITUTION,
    ("GET", "/admin/sign-in"): ANYBODY,
    ("POST", "/admin/sign-in"): ANYBODY,
    # Before the door as well, and back in the browser that began: test_oidc.py.
    ("GET", "/admin/sign-in/oidc"): ITS_OWN,
    ("GET", "/admin/sign-in/oidc/back"): ITS_OWN,
}

#: What whoever may only look may do all the same: with their own account and session.
ONES_OWN = {
    "/admin/sign-out",
    "/admin/account/password",
    "/admin/account/sessions/{id}/end",
    "/admin/account/sign-out-everywhere",
}


ALL = routes_of(application())

ADMIN = [
    (method, route.path, route.role) for route in ALL if isinstance(route, AdminRoute) for method in methods_of(route)
]
API = [
    (method, route.path, route.openapi_extra[SCOPE])
    for route in ALL
    if isinstance(route, ScopedRoute)
    for method in methods_of(route)
]


def _others(routes: list[Any]) -> dict[tuple[str, str], bool]:
    """The routes whose rule is in the table, and whether each is behind the door of an institution's pages."""
    return {
        (method, route.path): isinstance(route, PortalRoute)
        for route in routes
        if not isinstance(route, AdminRoute | ScopedRoute)
        for method in methods_of(route)
    }


OTHER = _others(ALL)


def _filled(path: str) -> str:
    """A path with something in its places, which is there where one of it was made."""
    for name in ("id", "event", "code", "period", "institution", "slug"):
        path = path.replace(f"{{{name}}}", "1")
    path = path.replace("{buyer:path}", "1")
    assert "{" not in path, f"say in _filled what stands in {path}"
    return path


class TestEachRouteHasARule:
    def test_all_else_is_in_the_table(self) -> None:
        assert RULES.keys() == OTHER.keys()

    def test_a_new_route_of_an_institutions_pages_is_named(self) -> None:
        """Whoever adds one and says no rule is told which."""
        app = application()
        more = APIRouter(prefix="/portal", route_class=PortalRoute)
        more.add_api_route("/new", lambda: None, methods=["POST"])
        app.include_router(more)
        assert _others(routes_of(app)).keys() - RULES.keys() == {("POST", "/portal/new")}

    def test_what_is_an_institutions_is_behind_its_door(self) -> None:
        assert {key for key, rule in RULES.items() if rule is ITS_INSTITUTION} == {
            key for key, behind in OTHER.items() if behind
        }

    def test_the_walk_sees_them(self) -> None:
        """One of each kind, so that a framework that hides them is noticed."""
        assert ("POST", "/admin/sign-out", Role.READ_ONLY) in ADMIN
        assert ("GET", "/v1/audit", "manage") in API
        assert len(ADMIN) > 20
        assert len(API) > 30

    def test_what_is_under_admin_is_behind_the_door(self) -> None:
        assert {path for _, path in OTHER if path.startswith("/admin")} == {
            SIGN_IN,
            f"{SIGN_IN}/oidc",
            f"{SIGN_IN}/oidc/back",
        }

    def test_what_is_under_v1_has_a_scope(self) -> None:
        assert not [path for _, path in OTHER if path.startswith("/v1")]

    def test_pages_are_read_and_forms_are_sent(self) -> None:
        """Behind the door nothing else is declared, and each says its role itself."""
        for route in ALL:
            if isinstance(route, AdminRoute):
                assert route.methods in ({"GET"}, {"POST"})
                assert (route.openapi_extra or {}).get(ROLE), f"{route.path} says no role"

    def test_who_may_only_look_may_send_what_is_their_own(self) -> None:
        assert {path for method, path, role in ADMIN if method == "POST" and role is Role.READ_ONLY} == ONES_OWN


@pytest.fixture
def something(service: Service, host: Psycopg) -> None:
    """Something to change: a code, an open checkout, a key, an endpoint, a matter."""
    service.code()
    service.open("a@school.test")
    host.run(verbs.raise_attention(kind="drift", subject="cs_1", detail={}))


_TABLES = (
    "institution", "product", "code", "allocation", "redemption", "checkout", "entitlement", "api_key", "event",
    "webhook_endpoint", "delivery", "attention", "account", "audit", "stripe_event", "portal_member",
    "portal_link", "mail",
)  # fmt: skip


def _everything(connection: psycopg.Connection[Any]) -> dict[str, Any]:
    return {
        table: connection.execute(
            f"SELECT to_jsonb(t)::text FROM counterfoil.{table} AS t ORDER BY 1".encode()
        ).fetchall()
        for table in _TABLES
    }


class TestTheSellersPages:
    def test_whoever_is_not_signed_in_is_sent_to_sign_in(
        self, browser: httpx.Client, something: None, connection: psycopg.Connection[Any]
    ) -> None:
        """Each route, and nothing is done. A key in a header is no session, and neither is another's cookie."""
        before = _everything(connection)
        for method, path, _ in ADMIN:
            for headers in ({}, {"Authorization": f"Bearer {ADMIN_KEY}"}, {"Cookie": "counterfoil_admin=" + "x" * 43}):
                said = browser.request(method, _filled(path), headers=headers)
                to = said.headers.get("location", "").partition("?")[0]
                assert (said.status_code, to) == (303, SIGN_IN), (method, path)
                assert said.text == ""
        assert _everything(connection) == before

    def test_read_only_changes_nothing(
        self, signed: SignIn, something: None, connection: psycopg.Connection[Any]
    ) -> None:
        """Each form answers 403, whatever is in it, and no row is another one."""
        browser = signed(Role.READ_ONLY)
        before = _everything(connection)
        sent = [(path, browser.post(_filled(path), data={"apply": "yes", "days": "7"})) for method, path, role in ADMIN
                if method == "POST" and role is not Role.READ_ONLY]  # fmt: skip
        assert sent
        assert [(path, said.status_code) for path, said in sent if said.status_code != 403] == []
        assert _everything(connection) == before

    @pytest.mark.parametrize("role", [Role.READ_ONLY, Role.STAFF])
    def test_what_is_the_owners_is_refused(
        self, signed: SignIn, something: None, connection: psycopg.Connection[Any], role: Role
    ) -> None:
        browser = signed(role)
        before = _everything(connection)
        for method, path, least in ADMIN:
            if not role.reaches(least):
                assert browser.request(method, _filled(path)).status_code == 403, (method, path)
        assert _everything(connection) == before

    def test_each_page_opens_for_whom_it_is(self, signed: SignIn, something: None) -> None:
        """So a refusal above is the role's, and no broken page's."""
        for role in Role:
            browser = signed(role)
            for method, path, least in ADMIN:
                if method == "GET" and "{" not in path and path != "/admin/live" and role.reaches(least):
                    assert browser.get(path).status_code in (200, 303), (role, path)

    def test_a_form_of_another_site_is_refused(
        self, signed: SignIn, something: None, connection: psycopg.Connection[Any]
    ) -> None:
        browser = signed(None)
        before = _everything(connection)
        for method, path, _ in ADMIN:
            if method == "POST":
                for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://elsewhere.test"}):
                    assert browser.post(_filled(path), headers=headers).status_code == 403, path
        assert _everything(connection) == before

    def test_a_first_password_opens_one_page(self, browsers: Any, host: Psycopg, something: None) -> None:
        from tests.support.admin import account, sign_in

        browser = browsers()
        made = account(host, Role.OWNER, first=True)
        assert sign_in(browser, made.email).status_code == 303
        for method, path, _ in ADMIN:
            if path not in ("/admin/account", "/admin/account/password", "/admin/sign-out"):
                said = browser.request(method, _filled(path))
                assert (said.status_code, said.headers["location"]) == (303, "/admin/account"), path
        assert "Choose your own to go on" in browser.get("/admin/account").text


class TestTheApi:
    @pytest.mark.parametrize(("method", "path", "scope"), API)
    def test_without_a_key(self, service: Service, method: str, path: str, scope: str) -> None:
        """An admin's session is no key either."""
        with httpx.Client(base_url=service.url, trust_env=False) as anybody:
            assert anybody.post(SIGN_IN, data={"key": ADMIN_KEY}).status_code == 303
            token = anybody.cookies["counterfoil_admin"]
            said = anybody.request(method, _filled(path), headers={"Cookie": f"counterfoil_admin={token}"})
        assert said.status_code == 401


class TestTheShop:
    def test_what_a_browser_began_is_shown_to_no_other(self, browsers: Any, service: Service) -> None:
        service.code()
        first, other = browsers(), browsers()
        said = first.post("/products/hub", data={"buyer": "mina@school.test", "code": "NORTH-26"})
        assert said.status_code == 303
        sale = service.get("/v1/checkouts")["data"][0]
        assert sale["url"] in html.unescape(first.get(said.headers["location"]).text)
        places = {"{id}": sale["id"], "{session_id}": sale["session_id"], "{unlock}": "hub"}
        for (method, path), rule in RULES.items():
            if rule is not ITS_BROWSER:
                continue
            filled = "/products/hub/back" if path == "/products/{id}/back" else path
            for place, value in places.items():
                filled = filled.replace(place, value)
            answer = other.request(method, filled)
            assert sale["url"] not in html.unescape(answer.text), path
            assert "mina@school.test" not in answer.text, path
            assert sale["id"] not in answer.headers.get("location", ""), path
        assert service.get(f"/v1/checkouts/{sale['id']}")["status"] == "open"
