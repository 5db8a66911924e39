"""Whoever signs in goes on where they wanted to be, and nowhere that is not ours."""

from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from tests.support.admin import PASSWORD, SIGN_IN, account, fields
from tests.support.serving import ADMIN_KEY

from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service.pages.admin.coming_back import safe
from counterfoil.service.roles import Role


@pytest.mark.parametrize(
    "hostile",
    [
        "", "//evil.test", "/\\evil.test", "\\\\evil.test", "https://evil.test", "https:/admin", "javascript:alert(1)",
        "/admin//evil.test", "/admin/\\evil.test", "/admin/%5Cevil", "/admin/%2F%2Fevil", "/admin/..//evil.test",
        "/admin/../", "/admin/%2e%2e/", "/admin/%2E%2E", "/admin/.", "/admin\n/x", "/admin/x\r\nLocation: //evil",
        "/admin/%0d%0aX: y", "/admin/%0Ax", "/adminx", "/administrator", "/admin@evil.test", "/admin.evil.test",
        "%2Fadmin", "/portal", "/", "admin", " /admin", "/admin/é", "/admin#x", "/admin/x#y", "/admin/sign-in",
        "/admin/sign-out", "/admin/live", "/admin/" + "x" * 2000, "/admin/x y", "/admin/\x00",
    ],
)  # fmt: skip
def test_what_is_not_plainly_ours(browser: httpx.Client, hostile: str) -> None:
    assert safe(hostile) == "/admin"
    assert fields(browser.get(SIGN_IN, params={"next": hostile}))["next"] == "/admin"
    said = browser.post(SIGN_IN, data={"key": ADMIN_KEY, "next": hostile})
    assert (said.status_code, said.headers["location"]) == (303, "/admin")


@pytest.mark.parametrize("wanted", ["/admin/codes", "/admin/codes?q=A+%26+B", "/admin/codes/n0rth26?period=2026-27"])
def test_back_to_the_page(browser: httpx.Client, host: Psycopg, wanted: str) -> None:
    """Also after a password that was wrong."""
    account(host, Role.STAFF, "mina@seller.test")
    asked = browser.get(wanted).headers["location"]
    assert asked.startswith(f"{SIGN_IN}?next=")
    offered = {"next": parse_qs(urlsplit(asked).query)["next"][0], "email": "mina@seller.test"}
    assert browser.get(asked).text.count('name="next"') == 2
    refused = browser.post(SIGN_IN, data=offered | {"password": "wrong horse battery"})
    again = offered | {"next": fields(refused)["next"].replace("&amp;", "&"), "password": PASSWORD}
    assert browser.post(SIGN_IN, data=again).headers["location"] == wanted


@pytest.mark.parametrize(
    ("referer", "next"),
    [
        ("http://any.test/admin/codes/x/cap?period=all", "/admin/codes/x/cap?period=all"), ("", "/admin"),
        ("http://any.test/portal", "/admin"), ("http://[", "/admin"),
    ],
)  # fmt: skip
def test_a_form_leads_back_to_its_page(browser: httpx.Client, referer: str, next: str) -> None:
    """Never to where it was sent, which shows nothing."""
    said = browser.post("/admin/codes/x/cap", data={}, headers={"Referer": referer})
    assert parse_qs(urlsplit(said.headers["location"]).query).get("next", ["/admin"]) == [next]
