"""Signing in with a provider on another site, in a real browser: under its rules for cookies, and our policy."""

import pytest
from playwright.sync_api import Browser
from tests.pages.conftest import Visitor
from tests.support.admin import account
from tests.support.identity import identifying
from tests.support.serving import serving

from counterfoil import embedded
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service.roles import Role
from counterfoil.simulator import Running


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
def test_in_and_refused(
    server: embedded.Server, simulator: Running, host: Psycopg, chrome: Browser, script: bool
) -> None:
    """Its page leads back to ours, so a strict cookie does not come along: ours leads on by itself."""
    account(host, Role.OWNER, "mina@seller.test")
    # Another name of this machine is another site.
    with identifying("localhost") as identity, serving(server.url, simulator, **identity.settings) as service:
        identity.asks = True
        visitor = Visitor(chrome, service.url, **({} if script else {"java_script_enabled": False}))
        page = visitor.go("/admin/sign-in")
        if script:
            visitor.walk()
        page.get_by_role("link", name="Sign in with localhost").click()
        page.get_by_role("link", name="Allow").click()
        visitor.heading("Institutions")
        identity.told["email"] = "noah@seller.test"
        visitor.go("/admin/sign-in")
        page.get_by_role("link", name="Sign in with localhost").click()
        page.get_by_role("link", name="Allow").click()
        visitor.says("No account that is open has the address noah@seller.test")
        if script:
            visitor.walk(again=False)
        page.get_by_role("link", name="Sign in", exact=True).click()
        visitor.heading("Sign in")
        visitor.close()
