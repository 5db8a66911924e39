"""What owners do on the seller's pages: accounts, keys, webhooks, settings; and what everybody does with their own."""

import re
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest
from tests.conftest import Clock
from tests.support.admin import PASSWORD, SIGN_IN, SignIn, account, is_in, sign_in
from tests.support.commands import SETTINGS
from tests.support.serving import ADMIN_KEY, Service

from counterfoil import outgoing
from counterfoil.clocks import Clocks
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service import auth
from counterfoil.service.pages.admin.settings_page import WIDTH, bars, said, ticks
from counterfoil.service.roles import Role
from counterfoil.service.settings import load
from counterfoil.simulator import Running

NEW = "a few words in a row"


def shown_once(page: str) -> str:
    """The secret of an answer."""
    found = re.search(r"<code>([^<]+)</code> <button[^>]*data-copy", page)
    assert found, page
    return found[1]


class TestAccounts:
    def test_from_nothing_to_somebody_at_work(self, signed: SignIn, browsers: Callable[[], httpx.Client]) -> None:
        """The admin key makes the first owner, who changes the password, and goes on."""
        key = signed(None)
        said = key.post("/admin/accounts", data={"email": "Mina@Seller.test", "name": " Mina ", "role": "owner"})
        assert said.status_code == 200
        first = shown_once(said.text)
        assert first not in key.get("/admin/accounts").text
        mina = browsers()
        assert sign_in(mina, "mina@seller.test", first).status_code == 303
        assert mina.get("/admin/attention").headers["location"] == "/admin/account"
        changed = mina.post("/admin/account/password", data={"present": first, "new": NEW, "again": NEW})
        assert changed.headers["location"] == "/admin/account?changed=true"
        assert "Your password is changed" in mina.get("/admin/account?changed=true").text
        assert is_in(mina)
        assert sign_in(browsers(), "mina@seller.test", first).status_code == 403
        assert sign_in(browsers(), "mina@seller.test", NEW).status_code == 303

    def test_a_first_password_is_good_for_a_week(
        self, browsers: Callable[[], httpx.Client], host: Psycopg, clock: Clock
    ) -> None:
        made = account(host, Role.STAFF, first=True)
        assert sign_in(browsers(), made.email).status_code == 303
        clock.advance(days=7, minutes=1)
        assert sign_in(browsers(), made.email).status_code == 403

    @pytest.mark.parametrize(
        ("typed", "field", "wrong"),
        [
            ({"email": "mina"}, "email", "an e-mail address, such as"), ({"name": ""}, "name", "Write a name"),
            ({"name": "a\x00"}, "name", "Write a name"), ({"role": "boss"}, "role", "Choose a role"),
            ({"email": "OWNER@seller.test"}, "email", "an account with this address"),
        ],
    )  # fmt: skip
    def test_what_is_wrong_is_said_and_nothing_is_lost(
        self, signed: SignIn, typed: dict[str, str], field: str, wrong: str
    ) -> None:
        owner = signed(Role.OWNER)
        given = {"email": "noah@seller.test", "name": "Noah Öz", "role": "read-only", **typed}
        said = owner.post("/admin/accounts", data=given)
        assert said.status_code in (409, 422)
        assert wrong in said.text
        if field != "name":
            assert 'value="Noah Öz"' in said.text
        if field != "role":
            assert re.search(r'value="read-only" required checked', said.text)
        assert "noah@" not in owner.get("/admin/accounts").text

    def test_another_role_holds_at_once(self, signed: SignIn, host: Psycopg) -> None:
        owner, staff = signed(Role.OWNER), signed(Role.STAFF)
        found = {one.email: one.id for one in host.run(accounts_of())}
        at = f"/admin/accounts/{found['staff@seller.test']}"
        assert staff.get("/admin/accounts").status_code == 403
        assert owner.post(at, data={"name": "S", "role": "owner"}).status_code == 303
        assert staff.get("/admin/accounts").status_code == 200
        assert owner.post(at, data={"name": "", "role": "owner"}).status_code == 422
        assert owner.post(at, data={"name": "S", "role": "x"}).status_code == 422
        assert owner.post(f"{at}/disable").status_code == 303
        assert not is_in(staff)
        assert "disabled" in owner.get(at).text
        last = f"/admin/accounts/{found['owner@seller.test']}"
        assert owner.post(f"{last}/disable").status_code == 409
        refused = owner.post(last, data={"name": "O", "role": "staff"})
        assert (refused.status_code, "the last owner" in refused.text) == (409, True)
        assert owner.post(f"{at}/enable").status_code == 303
        for unknown in ("0", "x", "9" * 30):
            assert owner.get(f"/admin/accounts/{unknown}").status_code == 404

    def test_somebody_who_forgot_theirs(
        self, signed: SignIn, browsers: Callable[[], httpx.Client], host: Psycopg
    ) -> None:
        owner, staff = signed(Role.OWNER), signed(Role.STAFF)
        id = next(one.id for one in host.run(accounts_of()) if one.role is Role.STAFF)
        first = shown_once(owner.post(f"/admin/accounts/{id}/password").text)
        assert not is_in(staff)
        assert sign_in(browsers(), "staff@seller.test").status_code == 403
        assert sign_in(browsers(), "staff@seller.test", first).status_code == 303


def accounts_of() -> Any:
    from counterfoil.service import accounts

    return accounts.accounts()


class TestMyAccount:
    @pytest.mark.parametrize(
        ("present", "new", "again", "status", "wrong"),
        [
            ("wrong horse battery", NEW, NEW, 403, "not your present password"),
            (PASSWORD, "short", "short", 422, "12 characters or more"),
            (PASSWORD, "staff@seller.test", "staff@seller.test", 422, "must not be the address"),
            (PASSWORD, "x" * 1001, "x" * 1001, 422, "at most 1000"),
            (PASSWORD, NEW, NEW + "!", 422, "not the same"),
            (PASSWORD, PASSWORD, PASSWORD, 422, "the present one"),
        ],
    )
    def test_a_password_that_will_not_do(
        self, signed: SignIn, browsers: Callable[[], httpx.Client], present: str, new: str, again: str, status: int,
        wrong: str,
    ) -> None:  # fmt: skip
        staff = signed(Role.STAFF)
        said = staff.post("/admin/account/password", data={"present": present, "new": new, "again": again})
        assert (said.status_code, wrong in said.text) == (status, True)
        assert is_in(staff)
        assert sign_in(browsers(), "staff@seller.test").status_code == 303

    def test_changing_it_ends_the_other_sessions(self, signed: SignIn, browsers: Callable[[], httpx.Client]) -> None:
        one, other = signed(Role.STAFF), browsers()
        sign_in(other, "staff@seller.test")
        one.post("/admin/account/password", data={"present": PASSWORD, "new": NEW, "again": NEW})
        assert (is_in(one), is_in(other)) == (True, False)

    def test_the_present_one_cannot_be_guessed_here_either(self, signed: SignIn) -> None:
        staff = signed(Role.STAFF)
        for _ in range(10):
            assert staff.post("/admin/account/password", data={"present": "x", "new": NEW}).status_code == 403
        said = staff.post("/admin/account/password", data={"present": PASSWORD, "new": NEW, "again": NEW})
        assert said.status_code == 429
        assert 0 < int(said.headers["retry-after"]) <= 900

    def test_one_browser_is_signed_out_and_only_ones_own(
        self, signed: SignIn, browsers: Callable[[], httpx.Client]
    ) -> None:
        staff, owner, phone = signed(Role.STAFF), signed(Role.OWNER), browsers()
        phone.headers["User-Agent"] = "Mozilla/5.0 (iPhone) Safari/605"
        sign_in(phone, "staff@seller.test")
        page = staff.get("/admin/account").text
        assert "Safari on iPhone" in page
        ends = re.findall(r'action="(/admin/account/sessions/\d+/end)"', page)
        assert len(ends) == 1
        owner.post(ends[0])
        assert is_in(phone)
        staff.post("/admin/account/sessions/x/end")
        staff.post(ends[0])
        assert (is_in(phone), is_in(staff)) == (False, True)

    def test_signed_out_everywhere(self, signed: SignIn, browsers: Callable[[], httpx.Client]) -> None:
        staff, owner, phone = signed(Role.STAFF), signed(Role.OWNER), browsers()
        sign_in(phone, "staff@seller.test")
        said = staff.post("/admin/account/sign-out-everywhere")
        assert (said.status_code, said.headers["location"]) == (303, SIGN_IN)
        assert (is_in(staff), is_in(phone), is_in(owner)) == (False, False, True)

    def test_a_key_has_none(self, signed: SignIn) -> None:
        key = signed(None)
        assert "signed in with the admin key" in key.get("/admin/account").text
        for path in ("password", "sign-out-everywhere", "sessions/1/end"):
            assert key.post(f"/admin/account/{path}").status_code == 403


class TestKeys:
    def test_made_used_revoked(self, signed: SignIn, service: Service) -> None:
        owner = signed(Role.OWNER)
        secret = shown_once(owner.post("/admin/keys", data={"name": "shop <1>", "scope": "read"}).text)
        listed = owner.get("/admin/keys").text
        assert "shop &lt;1&gt;" in listed
        assert secret not in listed
        bearer = {"Authorization": f"Bearer {secret}"}
        assert httpx.get(f"{service.url}/v1/codes", headers=bearer, trust_env=False).status_code == 200
        revoke = re.search(r'action="(/admin/keys/\d+/revoke)"', listed)
        assert revoke
        assert owner.post(revoke[1]).status_code == 303
        assert httpx.get(f"{service.url}/v1/codes", headers=bearer, trust_env=False).status_code == 401
        for again in (revoke[1], "/admin/keys/x/revoke"):
            assert owner.post(again).status_code == 404

    @pytest.mark.parametrize(("name", "scope"), [("", "read"), ("shop", "all"), ("x\n", "")])
    def test_wrong(self, signed: SignIn, host: Psycopg, name: str, scope: str) -> None:
        said = signed(Role.OWNER).post("/admin/keys", data={"name": name, "scope": scope})
        assert said.status_code == 422
        assert host.run(auth.keys()) == []

    def test_staff_see_no_button(self, signed: SignIn) -> None:
        staff = signed(Role.STAFF)
        assert "Make a key" not in staff.get("/admin/keys").text
        assert "Make a key" in signed(Role.OWNER).get("/admin/keys").text


class TestWebhooks:
    @pytest.fixture
    def public(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every name is of a public address."""
        from counterfoil.service.pages.admin import webhooks

        async def check(url: str) -> None:
            assert url

        monkeypatch.setattr(webhooks, "check_url", check)

    def test_added_sent_to_disabled(self, signed: SignIn, service: Service, host: Psycopg, public: None) -> None:
        owner = signed(Role.OWNER)
        said = owner.post("/admin/webhooks", data={"url": "https://shop.test/hooks", "types": "redemption.reserved"})
        assert shown_once(said.text).startswith("whsec_")
        assert "whsec_" not in owner.get("/admin/webhooks").text
        endpoint = host.run(outgoing.endpoints())[0]
        service.code()
        service.open("a@school.test")
        at = f"/admin/webhooks/{endpoint.id}"
        page = owner.get(at).text
        assert "redemption.reserved" in page
        assert "next at" in page
        attempt = host.run(outgoing.claim(endpoint=endpoint.id, most=1))[0]
        host.run(outgoing.close(attempt=attempt, status=204, error=None))
        assert "delivered" in owner.get(at).text
        resend = re.search(rf'action="({at}/resend/evt_\w+)"', page)
        assert resend
        again = signed(Role.STAFF).post(resend[1])
        assert again.headers["location"] == f"{at}?sent=true"
        assert host.run(outgoing.due()) == [endpoint.id]
        assert owner.post(f"{at}/resend/evt_none").status_code == 404
        assert owner.post(f"{at}/disable").status_code == 303
        assert owner.get(at).status_code == 404
        assert owner.post(f"{at}/disable").status_code == 404

    @pytest.mark.parametrize(
        "given", [{"url": ""}, {"url": "shop.test"}, {"url": "http://127.0.0.1/hooks"}, {"url": "https://10.0.0.1/"}]
    )
    def test_wrong(self, signed: SignIn, host: Psycopg, given: dict[str, str]) -> None:
        said = signed(Role.OWNER).post("/admin/webhooks", data=given)
        assert said.status_code == 422
        assert f'value="{given["url"]}"' in said.text
        assert host.run(outgoing.endpoints()) == []

    def test_a_type_that_is_none(self, signed: SignIn, host: Psycopg, public: None) -> None:
        said = signed(Role.OWNER).post("/admin/webhooks", data={"url": "https://shop.test/", "types": ["x", "y"]})
        assert said.status_code == 422
        assert host.run(outgoing.endpoints()) == []

    def test_page_by_page(
        self, signed: SignIn, host: Psycopg, connection: psycopg.Connection[Any], public: None
    ) -> None:
        owner = signed(Role.OWNER)
        owner.post("/admin/webhooks", data={"url": "https://shop.test/"})
        for number in range(52):
            connection.execute("SELECT counterfoil.announce('checkout.paid', %s, '{}')", (f"s{number}",))
        at = f"/admin/webhooks/{host.run(outgoing.endpoints())[0].id}"
        first = owner.get(at).text
        assert first.count("/resend/") == 50
        older = re.search(rf'href="({at}\?after=[^"]+)"', first)
        assert older
        assert owner.get(older[1]).text.count("/resend/") == 2


class TestSettings:
    def test_every_one_and_no_secret(self, signed: SignIn, service: Service, simulator: Running) -> None:
        page = signed(Role.OWNER).get("/admin/settings").text
        for variable in ("COUNTERFOIL_SESSION_TTL", "COUNTERFOIL_ADMIN_KEY", "STRIPE_API_BASE"):
            assert variable in page
        for secret in (ADMIN_KEY, "a-secret-key-of-the-tests", "sk_test_tests", simulator.secret, "postgresql://"):
            assert secret not in page
        assert "31m" in page
        assert "the session + a minute for its event, within the hold: 32m &lt;= 40m" in page

    def test_all_of_the_settings_are_there(self) -> None:
        settings = load(COUNTERFOIL_DATABASE_URL="postgresql://u:sesame@h/d", **SETTINGS)
        found = dict(said(settings))
        assert found.keys() == {field.alias for field in type(settings).model_fields.values()}
        assert found["COUNTERFOIL_DATABASE_URL"] == "set, and not shown"
        assert found["COUNTERFOIL_ADMIN_KEY"] == "not set"
        assert found["COUNTERFOIL_RESERVATION_TTL"] == "40m"
        assert found["COUNTERFOIL_PAYMENT_METHODS"] == "card"

    def test_the_chain_is_drawn_to_scale(self) -> None:
        floor, call, session, hold = bars(Clocks())
        minute = WIDTH / 40
        assert (hold.width, session.width, floor.width) == (WIDTH, 31 * minute, 30 * minute)
        assert call.start == floor.width
        assert call.start + call.width < session.width
        assert [words for _, words in ticks(Clocks())] == ["0s", "10m", "20m", "30m", "40m"]


class TestNavigation:
    def test_leads_where_one_may_go(self, signed: SignIn, host: Psycopg) -> None:
        from counterfoil import verbs

        host.run(verbs.raise_attention(kind="drift", subject="cs_1", detail={}))
        seen = {
            role: re.findall(r'<a href="(/admin/?[a-z-]*)"', signed(role).get("/admin/attention").text) for role in Role
        }
        assert "/admin/accounts" in seen[Role.OWNER]
        assert "/admin/accounts" not in seen[Role.STAFF]
        assert "/admin/settings" not in seen[Role.READ_ONLY]
        assert "/admin/keys" in seen[Role.READ_ONLY]

    def test_says_how_many_matters_are_open(self, signed: SignIn, host: Psycopg) -> None:
        from counterfoil import verbs

        browser = signed(Role.READ_ONLY)
        assert '<span class="tag">3' not in browser.get("/admin/audit").text
        for number in range(3):
            host.run(verbs.raise_attention(kind="drift", subject=f"cs_{number}", detail={}))
        assert '<span class="tag">3' in browser.get("/admin/audit").text
