"""Signing in with an OpenID Connect provider: who gets in, and all that lets nobody in."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import httpx
import psycopg
import pytest
from tests.conftest import Clock
from tests.support.admin import SIGN_IN, account, is_in, sign_in, text_of
from tests.support.commands import SETTINGS, environment
from tests.support.identity import SECRET, Identity, identifying
from tests.support.serving import Service, serving

from counterfoil import embedded
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service import accounts, oidc
from counterfoil.service.roles import Role
from counterfoil.service.settings import SettingsImpossible, load
from counterfoil.simulator import Running

OIDC = f"{SIGN_IN}/oidc"


@pytest.fixture(scope="module")
def _identity() -> Iterator[Identity]:
    with identifying() as provider:
        yield provider


@pytest.fixture(scope="module")
def _open(_identity: Identity, server: embedded.Server, _simulator: Running) -> Iterator[Service]:
    with serving(server.url, _simulator, **_identity.settings) as service:
        yield service


@pytest.fixture
def identity(_identity: Identity) -> Identity:
    _identity.forget()
    return _identity


@pytest.fixture
def browsers(_open: Service, database: str, clock: Clock) -> Iterator[Callable[[], httpx.Client]]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(
            httpx.Client(base_url=_open.url, headers={"Accept": "text/html"}, timeout=30, trust_env=False)
        )


@pytest.fixture
def browser(browsers: Callable[[], httpx.Client]) -> httpx.Client:
    return browsers()


@pytest.fixture
def mina(host: Psycopg, clock: Clock) -> accounts.Account:
    """Whom the provider knows."""
    return account(host, Role.STAFF, "mina@seller.test")


def at_provider(browser: httpx.Client) -> str:
    """Begin, and agree at the provider: where it leads back to."""
    begun = browser.get(OIDC)
    assert begun.status_code == 303, begun.text
    return httpx.get(begun.headers["location"], trust_env=False).headers["location"]


def with_provider(browser: httpx.Client) -> httpx.Response:
    return browser.get(at_provider(browser))


def refused(browser: httpx.Client, said: httpx.Response, status: int, *words: str) -> None:
    """Nobody is in, and the page says why and what to do."""
    assert said.status_code == status, said.text
    for one in words:
        assert one in text_of(said)
    assert f'href="{SIGN_IN}"' in said.text
    assert "counterfoil_admin" not in browser.cookies
    assert not is_in(browser)


class TestGetsIn:
    def test_an_address_with_an_account(
        self, browser: httpx.Client, identity: Identity, mina: Any, connection: psycopg.Connection[Any]
    ) -> None:
        """With the account's role, however the address is written; the audit log says who."""
        identity.told["email"] = "MINA@Seller.test"
        said = with_provider(browser)
        assert (said.status_code, "You are signed in" in said.text) == (200, True)
        assert 'content="0; url=/admin"' in said.text
        assert is_in(browser)
        assert browser.get("/admin/accounts").status_code == 403
        assert "counterfoil_oidc" not in browser.cookies
        begun = connection.execute(
            "SELECT a::text FROM counterfoil.audit AS a WHERE a::text LIKE '%session.begun%'"
        ).fetchall()
        assert len(begun) == 1
        assert "mina@seller.test" in str(begun)

    def test_told_at_the_userinfo_endpoint(self, browser: httpx.Client, identity: Identity, mina: Any) -> None:
        identity.short = True
        with_provider(browser)
        assert is_in(browser)

    def test_with_the_secret_in_the_form(self, browser: httpx.Client, identity: Identity, mina: Any) -> None:
        identity.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
        with_provider(browser)
        assert is_in(browser)

    def test_without_choosing_a_password(self, browser: httpx.Client, identity: Identity, host: Psycopg) -> None:
        """The first password, which somebody else made, is nobody's from then on."""
        account(host, Role.STAFF, "mina@seller.test", first=True)
        with_provider(browser)
        assert is_in(browser)
        browser.post("/admin/sign-out")
        assert sign_in(browser, "mina@seller.test").status_code == 403
        with_provider(browser)
        assert is_in(browser)

    def test_a_password_of_ones_own_stays(self, browser: httpx.Client, identity: Identity, mina: Any) -> None:
        with_provider(browser)
        browser.post("/admin/sign-out")
        assert sign_in(browser, mina.email).status_code == 303

    def test_often(self, browser: httpx.Client, identity: Identity, mina: Any) -> None:
        """Going in counts nothing."""
        for _ in range(12):
            assert with_provider(browser).status_code == 200

    def test_the_cookies(self, browser: httpx.Client, identity: Identity, mina: Any) -> None:
        begun = browser.get(OIDC).headers["set-cookie"]
        for part in ("HttpOnly", "SameSite=lax", f"Path={OIDC}", "Max-Age=600"):
            assert part in begun
        assert "SameSite=strict" in with_provider(browser).headers["set-cookie"]

    def test_back_to_the_page(self, browser: httpx.Client, identity: Identity, mina: Any) -> None:
        for wanted, led in (("/admin/codes?q=a.b", "/admin/codes?q=a.b"), ("//evil.test", "/admin")):
            begun = browser.get(OIDC, params={"next": wanted})
            back = httpx.get(begun.headers["location"], trust_env=False).headers["location"]
            assert f'content="0; url={led}"' in browser.get(back).text

    def test_the_page_leads_there(self, browser: httpx.Client) -> None:
        assert f'href="{OIDC}">Sign in with 127.0.0.1<' in browser.get(SIGN_IN).text

    def test_or_by_the_name_that_is_set(self, identity: Identity, server: embedded.Server, simulator: Running) -> None:
        with serving(server.url, simulator, **identity.settings, COUNTERFOIL_OIDC_NAME="Acme & Söhne") as service:
            said = httpx.get(f"{service.url}{SIGN_IN}", trust_env=False)
        assert f'href="{OIDC}">Sign in with Acme &amp; Söhne<' in said.text


class TestGetsNobodyIn:
    def test_an_address_without_an_account(self, browser: httpx.Client, identity: Identity, mina: Any) -> None:
        identity.told["email"] = "noah@seller.test"
        refused(browser, with_provider(browser), 403, "No account that is open has the address noah@seller.test")

    def test_a_disabled_account(self, browser: httpx.Client, identity: Identity, mina: Any, host: Psycopg) -> None:
        host.run(accounts.disable(id=mina.id))
        refused(browser, with_provider(browser), 403, "No account that is open has the address mina@seller.test")

    @pytest.mark.parametrize("said", ["faß@seller.test", "ﬀass@seller.test", "fass@ſeller.test"])
    def test_an_address_that_only_reads_like_an_accounts(
        self, browser: httpx.Client, identity: Identity, host: Psycopg, clock: Clock, said: str
    ) -> None:
        """What we compare without regard to case may be two people's there."""
        for known in ("fass@seller.test", "ffass@seller.test"):
            account(host, Role.STAFF, known)
        identity.told["email"] = said
        refused(browser, with_provider(browser), 403, "letters beyond plain ones", "sign in with a password")

    @pytest.mark.parametrize("verified", [False, None, "true", 1])
    def test_an_address_that_was_not_verified(
        self, browser: httpx.Client, identity: Identity, mina: Any, verified: Any
    ) -> None:
        identity.claims["email_verified"] = verified
        refused(browser, with_provider(browser), 403, "did not say that it verified your e-mail address")

    @pytest.mark.parametrize(
        "claims",
        [
            {"nonce": "another"}, {"nonce": None}, {"aud": "another"}, {"aud": None}, {"iss": "https://another.test"},
            {"exp": timedelta(minutes=-1)}, {"exp": None}, {"iat": timedelta(minutes=10)}, {"azp": "another"},
            {"aud": ["counterfoil", "another"]}, {"sub": None},
        ],
        ids=str,
    )  # fmt: skip
    def test_a_claim_that_is_wrong(
        self, browser: httpx.Client, identity: Identity, mina: Any, claims: dict[str, Any]
    ) -> None:
        identity.claims = {
            name: int(time.time() + value.total_seconds()) if isinstance(value, timedelta) else value
            for name, value in claims.items()
        }
        refused(browser, with_provider(browser), 403, "The sign-in provider let nobody in", "cannot be used")

    def test_another_key(self, browser: httpx.Client, identity: Identity, mina: Any) -> None:
        identity.other_key()
        refused(browser, with_provider(browser), 403, "BadSignatureError")

    @pytest.mark.parametrize("alg", ["none", "HS256"])
    def test_no_signature(self, browser: httpx.Client, identity: Identity, mina: Any, alg: str) -> None:
        identity.alg = alg
        refused(browser, with_provider(browser), 403, "UnsupportedAlgorithmError")

    def test_what_another_browser_began(
        self, browsers: Callable[[], httpx.Client], identity: Identity, mina: Any
    ) -> None:
        """Neither one that began nothing, nor one that began another sign-in."""
        first, second, third = browsers(), browsers(), browsers()
        back = at_provider(first)
        third.get(OIDC)
        for other in (second, third):
            refused(other, other.get(back), 403, "not begun in this browser")
        first.get(back)
        assert is_in(first)

    def test_after_ten_minutes(self, browser: httpx.Client, identity: Identity, mina: Any, clock: Clock) -> None:
        back = at_provider(browser)
        clock.advance(minutes=10, seconds=2)
        refused(browser, browser.get(back), 403, "more than ten minutes")

    def test_a_code_used_twice(self, browser: httpx.Client, identity: Identity, mina: Any) -> None:
        """Also where the browser kept its cookie."""
        back = at_provider(browser)
        kept = browser.cookies["counterfoil_oidc"]
        browser.get(back)
        browser.post("/admin/sign-out")
        refused(browser, browser.get(back), 403, "not begun in this browser")
        again = browser.get(back, headers={"Cookie": f"counterfoil_oidc={kept}"})
        refused(browser, again, 403, "invalid_grant Not a code of yours.")

    def test_userinfo_of_somebody_else(self, browser: httpx.Client, identity: Identity, mina: Any) -> None:
        identity.short = True
        identity.told["sub"] = "2"
        refused(browser, with_provider(browser), 403, "it told of somebody else")

    def test_who_said_no_there(self, browser: httpx.Client, identity: Identity, mina: Any) -> None:
        identity.error = "access_denied"
        refused(browser, with_provider(browser), 403, "access_denied You said no.")

    def test_a_provider_that_is_down(self, browser: httpx.Client, identity: Identity, mina: Any) -> None:
        identity.down = True
        refused(browser, browser.get(OIDC), 503, "127.0.0.1 answered 503. Try again")
        identity.down = False
        back = at_provider(browser)
        identity.down = True
        refused(browser, browser.get(back), 503, "127.0.0.1 answered 503. Try again")

    @pytest.mark.parametrize(
        "metadata",
        [
            {"issuer": "https://another.test"}, {"authorization_endpoint": "http://another.test/"},
            {"authorization_endpoint": "javascript:alert(1)"}, {"authorization_endpoint": None},
        ],
        ids=str,
    )  # fmt: skip
    def test_a_provider_that_is_another(
        self, browser: httpx.Client, identity: Identity, metadata: dict[str, Any]
    ) -> None:
        identity.metadata = metadata
        refused(browser, browser.get(OIDC), 403, "cannot be used")

    def test_a_secret_goes_over_https_alone(self, browser: httpx.Client, identity: Identity, mina: Any) -> None:
        identity.metadata = {"token_endpoint": "http://another.test/token"}
        refused(browser, with_provider(browser), 403, "its token_endpoint is not an https address")

    def test_a_link_on_another_site(self, browser: httpx.Client, identity: Identity) -> None:
        for _ in range(12):
            said = browser.get(OIDC, headers={"Sec-Fetch-Site": "cross-site"})
            assert (said.status_code, said.headers["location"]) == (303, SIGN_IN)
        assert browser.get(OIDC).status_code == 303

    def test_who_tries_too_often(self, browser: httpx.Client, identity: Identity, mina: Any, clock: Clock) -> None:
        """Counted together with passwords."""
        for _ in range(10):
            refused(browser, browser.get(f"{OIDC}/back?state=x&code=y"), 403, "not begun in this browser")
        for path in (OIDC, f"{OIDC}/back?state=x&code=y"):
            said = browser.get(path)
            refused(browser, said, 429, "Try again in 15 minutes")
            assert int(said.headers["retry-after"]) > 0
        assert sign_in(browser, mina.email).status_code == 429
        clock.advance(minutes=15, seconds=1)
        with_provider(browser)
        assert is_in(browser)


@pytest.mark.parametrize("hangs", [False, True], ids=["refuses connections", "never answers"])
def test_a_provider_that_cannot_be_reached(
    server: embedded.Server, simulator: Running, identity: Identity, monkeypatch: pytest.MonkeyPatch, hangs: bool
) -> None:
    monkeypatch.setattr(oidc, "PATIENCE", 0.4)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        if hangs:
            # Connections are made, and nobody takes them.
            nobody.listen()
        issuer = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        with serving(server.url, simulator, **identity.settings | {"COUNTERFOIL_OIDC_ISSUER": issuer}) as service:
            said = httpx.get(f"{service.url}{OIDC}", trust_env=False)
    assert (said.status_code, "127.0.0.1 cannot be reached" in said.text) == (503, True)


class TestSettings:
    def test_without_them_there_is_no_such_page(self, service: Service) -> None:
        with httpx.Client(base_url=service.url, headers={"Accept": "text/html"}, trust_env=False) as browser:
            assert browser.get(OIDC).status_code == 404
            assert "Sign in with 1" not in browser.get(SIGN_IN).text

    @pytest.mark.parametrize("missing", ["ISSUER", "CLIENT_ID", "CLIENT_SECRET"])
    def test_all_three_or_none(self, identity: Identity, missing: str) -> None:
        name = f"COUNTERFOIL_OIDC_{missing}"
        given = {variable: value for variable, value in identity.settings.items() if variable != name}
        with pytest.raises(SettingsImpossible, match=f"{name} not set") as error:
            load(COUNTERFOIL_DATABASE_URL="postgresql://", **SETTINGS, **given)
        assert SECRET not in str(error.value)

    @pytest.mark.parametrize(
        "issuer", ["http://id.example", "id.example", "https://id.example?a=b", "https://me@id.example", "https://["]
    )
    def test_the_issuer_is_https(self, identity: Identity, issuer: str) -> None:
        given = identity.settings | {"COUNTERFOIL_OIDC_ISSUER": issuer}
        with pytest.raises(SettingsImpossible, match="write it as the provider does"):
            load(COUNTERFOIL_DATABASE_URL="postgresql://", **SETTINGS, **given)

    def test_without_the_extra(self, identity: Identity) -> None:
        """In a process that has no joserfc: it says what to install, and without the settings it needs none."""
        program = (
            "import sys; sys.modules['joserfc'] = None\n"
            "from counterfoil.service.settings import load, SettingsImpossible\n"
            "from counterfoil.service.app import create_app\n"
            "try:\n    create_app(load())\nexcept SettingsImpossible as error:\n    sys.exit(str(error))"
        )
        for given, code in ((identity.settings, 1), ({}, 0)):
            done = subprocess.run(
                [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False,
                env=environment(COUNTERFOIL_DATABASE_URL="postgresql://", **SETTINGS, **given),
            )  # fmt: skip
            assert done.returncode == code, done.stderr
            assert ("pip install 'counterfoil[oidc]'" in done.stderr) == bool(code)
