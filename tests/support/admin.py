"""Browsers before the seller's own pages, signed in as whoever a test needs."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx
import pytest

from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service import accounts, passwords
from counterfoil.service.roles import Role
from tests.support.serving import ADMIN_KEY, Service

SIGN_IN = "/admin/sign-in"
PASSWORD = "correct horse battery"
#: Hashed once for all tests: it takes long on purpose.
_HASH = passwords.hashed(PASSWORD)

#: Signs a new browser in as somebody of a role, or with the admin key (None).
SignIn = Callable[[Role | None], httpx.Client]


def account(host: Psycopg, role: Role, email: str = "", *, first: bool = False) -> accounts.Account:
    """An account with `PASSWORD`."""
    email = email or f"{role}@seller.test"
    return host.run(accounts.add(email=email, name=f"Somebody {role}", role=role, password_hash=_HASH, first=first))


def signed_in(browser: httpx.Client, secret: str = ADMIN_KEY) -> httpx.Client:
    """The browser, signed in with a key."""
    said = browser.post(SIGN_IN, data={"key": secret})
    assert (said.status_code, said.headers["location"]) == (303, "/admin")
    return browser


def sign_in(browser: httpx.Client, email: str, password: str = PASSWORD) -> httpx.Response:
    """Try to sign in with an account."""
    return browser.post(SIGN_IN, data={"email": email, "password": password})


def is_in(browser: httpx.Client) -> bool:
    """Whether the browser is signed in."""
    said = browser.get("/admin/attention")
    assert said.status_code in (200, 303)
    assert said.status_code == 200 or said.headers["location"].startswith(SIGN_IN)
    return said.status_code == 200


@pytest.fixture
def browsers(service: Service) -> Iterator[Callable[[], httpx.Client]]:
    """Makes browsers that have no key of their own: only their cookies."""
    with ExitStack() as stack:

        def browser() -> httpx.Client:
            return stack.enter_context(
                httpx.Client(base_url=service.url, headers={"Accept": "text/html"}, timeout=30, trust_env=False)
            )

        yield browser


@pytest.fixture
def browser(browsers: Callable[[], httpx.Client]) -> httpx.Client:
    """One of them."""
    return browsers()


@pytest.fixture
def signed(browsers: Callable[[], httpx.Client], host: Psycopg) -> SignIn:
    """A new browser for each, signed in as somebody of a role, or with the admin key."""

    def sign(role: Role | None) -> httpx.Client:
        one = browsers()
        if role is None:
            return signed_in(one)
        made = account(host, role)
        assert sign_in(one, made.email).status_code == 303
        return one

    return sign


@pytest.fixture
def staff(signed: SignIn) -> httpx.Client:
    """A browser of somebody of the staff."""
    return signed(Role.STAFF)


def text_of(page: httpx.Response | str) -> str:
    """What a person reads, in one line."""
    source = page if isinstance(page, str) else page.text
    line = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", source)))
    return re.sub(r" ([.,:])", r"\1", line)


def numbers_of(page: httpx.Response) -> dict[str, str]:
    """The stats of a page, by their labels."""
    return dict(re.findall(r'<div class="stat"><span>([^<]+)</span><strong>([^<]+)</strong>', page.text))


def fields(page: httpx.Response) -> dict[str, str]:
    """What a form would send if nothing were changed: without boxes that are not ticked."""
    sent: dict[str, str] = {}
    for tag in re.findall(r"<input [^>]+>", page.text):
        name, value = re.search(r' name="([^"]+)"', tag), re.search(r' value="([^"]*)"', tag)
        if name and (("checkbox" not in tag and "radio" not in tag) or " checked" in tag):
            sent[name[1]] = value[1] if value else ""
    for name, options in re.findall(r'<select [^>]*name="([^"]+)"[^>]*>(.*?)</select>', page.text, re.DOTALL):
        chosen = re.search(r'value="([^"]*)" selected', options)
        sent[name] = chosen[1] if chosen else ""
    for name, text in re.findall(r'<textarea [^>]*name="([^"]+)"[^>]*>(.*?)</textarea>', page.text, re.DOTALL):
        # As a browser sends its lines.
        sent[name] = "\r\n".join(html.unescape(text).splitlines())
    return sent


def error_of(page: httpx.Response, id: str) -> str:
    """What is said beside a field."""
    found = re.search(rf'<div id="{id}-said">\s*<p class="error">(.*?)</p>', page.text, re.DOTALL)
    return text_of(found[1]) if found else ""
