"""The seller's pages of who may do what, in a real browser: by its forms alone, under the strict policy."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from tests.pages.conftest import Visitor, signed_in
from tests.support.admin import account
from tests.support.serving import Service

from counterfoil import catalogue, outgoing, portal, verbs
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service.roles import Role
from counterfoil.tokens import new_token

PAGES = {
    "/admin/attention": "Needs attention",
    "/admin/reconcile": "Reconcile",
    "/admin/keys": "API keys",
    "/admin/webhooks": "Webhooks",
    "/admin/outbox": "Outbox",
    "/admin/audit": "Audit log",
    "/admin/accounts": "Accounts",
    "/admin/settings": "Settings",
    "/admin/account": "My account",
}
#: What the docs show.
PICTURES = {
    "/admin/attention": "admin-attention",
    "/admin/reconcile": "admin-reconcile",
    "/admin/keys": "admin-keys",
    "/admin/webhooks": "admin-webhooks",
    "/admin/outbox": "admin-outbox",
    "/admin/institutions/harrow-hill/people": "admin-people",
    "/admin/accounts": "admin-accounts",
    "/admin/audit": "admin-audit",
    "/admin/settings": "admin-settings",
}


@pytest.fixture(params=["with script", "without"])
def seller(request: pytest.FixtureRequest, shop_front: Service, chrome: Browser, host: Psycopg) -> Iterator[Visitor]:
    """An owner who signed in, with script on or off."""
    yield from signed_in(chrome, shop_front, host, Role.OWNER, java_script_enabled=request.param == "with script")


@pytest.fixture
def owner(shop_front: Service, chrome: Browser, host: Psycopg) -> Iterator[Visitor]:
    """An owner who signed in."""
    yield from signed_in(chrome, shop_front, host, Role.OWNER)


def test_each_page_as_everybody_sees_it(owner: Visitor, host: Psycopg) -> None:
    """Wide and narrow, light and dark, as axe reads it, and without script; with something on each."""
    host.run(verbs.raise_attention(kind="drift", subject="cs_1", detail={}))
    url = "https://shop.example/a/rather/long/address/for/hooks"
    made = host.run(outgoing.add_endpoint(url=url, types=None, secret="whsec_x"))
    host._source.execute(  # type: ignore[union-attr]
        "SELECT counterfoil.announce('checkout.paid', 's', '{}')"
    )
    noah = account(host, Role.STAFF, "noah@seller.test", first=True)
    people = "/admin/institutions/harrow-hill/people"
    school = host.run(catalogue.institution("harrow-hill"))
    host.run(portal.invite(institution=school.id, token=new_token(), email="rua@harrow.example", name="Rua"))
    for address in (*PAGES, people, f"/admin/webhooks/{made.id}", f"/admin/accounts/{noah.id}"):
        owner.go(address)
        owner.walk(PICTURES.get(address))


def test_signing_in_as_everybody_sees_it(visitor: Visitor) -> None:
    visitor.go("/admin/sign-in")
    visitor.walk()


def test_each_page_opens_from_the_navigation(seller: Visitor) -> None:
    for address, heading in PAGES.items():
        seller.page.locator("header").locator(f'a[href="{address}"]').click()
        seller.heading(heading)


def test_somebody_is_let_in_and_chooses_a_password(seller: Visitor, shop_front: Service, chrome: Browser) -> None:
    page = seller.go("/admin/accounts")
    page.get_by_label("E-mail address").fill("noah@seller.test")
    page.get_by_label("Name").fill("Noah")
    page.get_by_label("read-only").check()
    page.get_by_role("button", name="Add").click()
    seller.heading("A first password")
    first = page.get_by_role("status").locator("code").inner_text()
    noah = Visitor(chrome, shop_front.url)
    own = noah.go("/admin")
    own.get_by_label("E-mail address").fill("noah@seller.test")
    own.get_by_label("Password").fill(first)
    own.get_by_role("button", name="Sign in", exact=True).click()
    noah.says("Choose your own to go on")
    own.get_by_label("Present password").fill(first)
    own.get_by_label("New password", exact=True).fill("a few words in a row")
    own.get_by_label("New password, once more").fill("a few words in a row")
    own.get_by_role("button", name="Change it").click()
    noah.says("Your password is changed")
    noah.close()


def test_a_key_is_made_and_revoked(seller: Visitor) -> None:
    page = seller.go("/admin/keys")
    page.get_by_label("What it is for").fill("the shop")
    page.get_by_label("checkout").check()
    page.get_by_role("button", name="Make it").click()
    seller.says("The key for the shop")
    seller.go("/admin/keys")
    page.get_by_text("works", exact=True).click()
    page.get_by_role("button", name="Revoke").click()
    seller.says("revoked")


def test_the_number_of_open_matters_is_on_every_page(seller: Visitor, host: Psycopg) -> None:
    host.run(verbs.raise_attention(kind="drift", subject="cs_1", detail={}))
    page = seller.go("/admin/audit")
    link = page.get_by_role("navigation", name="Admin").get_by_role("link", name="Needs attention")
    assert link.inner_text() == "Needs attention 1"
