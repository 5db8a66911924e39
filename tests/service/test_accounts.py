"""The door of the seller's own pages: who gets in, for how long, and what ends it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest
from tests.conftest import Clock
from tests.support.admin import PASSWORD, SIGN_IN, SignIn, account, is_in, sign_in, signed_in
from tests.support.commands import SETTINGS
from tests.support.races import beside, wait_until_blocked
from tests.support.serving import ADMIN_KEY, Service, serving

from counterfoil import embedded
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service import accounts, auth, passwords
from counterfoil.service.auth import Scope
from counterfoil.service.pages.admin.sign_in import FROM_ANYWHERE
from counterfoil.service.roles import Role
from counterfoil.service.sessions import browser_of
from counterfoil.service.settings import load
from counterfoil.simulator import Running


def key(host: Psycopg, scope: Scope = "manage") -> str:
    secret = auth.new_secret()
    host.run(auth.create_key(name=scope, scope=scope, secret=secret))
    return secret


class TestWithAnAccount:
    def test_the_address_in_any_case_and_its_password(self, browser: httpx.Client, host: Psycopg) -> None:
        account(host, Role.STAFF, "mina@seller.test")
        assert not is_in(browser)
        said = sign_in(browser, " MINA@Seller.test ")
        assert (said.status_code, said.headers["location"]) == (303, "/admin")
        assert is_in(browser)

    @pytest.mark.parametrize(
        ("email", "password"),
        [
            ("mina@seller.test", "wrong horse battery"), ("nobody@seller.test", PASSWORD), ("mina@seller.test", ""),
            ("mina@seller.test", PASSWORD + "\x00"), ("mina@seller.test", PASSWORD.upper()),
            ("mina@seller.test", PASSWORD + "x" * 1000),
        ],
    )  # fmt: skip
    def test_what_is_wrong_is_said_alike(self, browser: httpx.Client, host: Psycopg, email: str, password: str) -> None:
        """Nothing tells an address that has an account from one that has none; what was typed is still there."""
        account(host, Role.STAFF, "mina@seller.test")
        said = sign_in(browser, email, password)
        assert (said.status_code, "The address or the password is not right." in said.text) == (403, True)
        assert f'value="{email}"' in said.text
        assert "set-cookie" not in said.headers
        assert not is_in(browser)

    @pytest.mark.parametrize(
        "email", ["", "mina", "mina@", "@seller.test", "a b@seller.test", "\x00@x.test", "é" * 300]
    )
    def test_what_is_no_address(self, browser: httpx.Client, email: str) -> None:
        said = sign_in(browser, email)
        assert (said.status_code, "an e-mail address, such as" in said.text) == (422, True)

    def test_as_much_work_for_nobody(self, browser: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """A hash is computed for an address without an account, and it is one of the same cost."""
        seen: list[str] = []
        real = passwords.verified
        monkeypatch.setattr(passwords, "verified", lambda stored, given: seen.append(stored) or real(stored, given))
        sign_in(browser, "nobody@seller.test")
        assert seen == [passwords.NOBODYS]
        assert not passwords.is_outdated(passwords.NOBODYS)

    def test_a_disabled_account_is_out_at_once(self, browser: httpx.Client, host: Psycopg) -> None:
        made = account(host, Role.STAFF)
        sign_in(browser, made.email)
        assert is_in(browser)
        assert host.run(accounts.disable(id=made.id))
        assert not is_in(browser)
        assert sign_in(browser, made.email).status_code == 403
        assert host.run(accounts.enable(id=made.id))
        # The session stays ended.
        assert not is_in(browser)
        assert sign_in(browser, made.email).status_code == 303

    def test_neither_password_nor_token_is_stored(
        self, browser: httpx.Client, host: Psycopg, connection: psycopg.Connection[Any]
    ) -> None:
        sign_in(browser, account(host, Role.STAFF).email)
        rows = connection.execute(
            "SELECT a, s FROM counterfoil.account AS a, counterfoil.account_session AS s"
        ).fetchall()
        assert PASSWORD not in str(rows)
        assert browser.cookies["counterfoil_admin"] not in str(rows)
        assert "$argon2id$" in str(rows)


class TestWithAKey:
    def test_the_admin_key_is_an_owner(self, browser: httpx.Client, host: Psycopg) -> None:
        """Also when there are accounts: it is how whoever runs the service gets back in."""
        account(host, Role.OWNER)
        assert not is_in(browser)
        signed_in(browser)
        assert browser.get("/admin/accounts").status_code == 200

    def test_a_key_that_manages_opens_until_there_is_an_account(self, browser: httpx.Client, host: Psycopg) -> None:
        """As staff: it makes no owner that would outlive it."""
        secret = key(host)
        signed_in(browser, f" {secret} ")
        assert is_in(browser)
        assert browser.get("/admin/accounts").status_code == 403
        made = account(host, Role.OWNER)
        assert not is_in(browser)
        said = browser.post(SIGN_IN, data={"key": secret})
        assert (said.status_code, "sign in with yours" in said.text) == (403, True)
        host.run(accounts.add(email="b@seller.test", name="B", role=Role.OWNER, password_hash="x", first=False))
        assert host.run(accounts.disable(id=made.id))
        assert not is_in(browser)

    @pytest.mark.parametrize("scope", ["checkout", "read"])
    def test_a_key_that_does_not_reach(self, browser: httpx.Client, host: Psycopg, scope: Scope) -> None:
        said = browser.post(SIGN_IN, data={"key": key(host, scope)})
        assert (said.status_code, "does not reach manage" in said.text) == (403, True)
        assert "set-cookie" not in said.headers

    @pytest.mark.parametrize("wrong", ["nonsense", ADMIN_KEY + "x", "\x00", "é" * 200])
    def test_what_is_no_key(self, browser: httpx.Client, wrong: str) -> None:
        said = browser.post(SIGN_IN, data={"key": wrong})
        assert (said.status_code, "not recognised" in said.text) == (403, True)
        assert not is_in(browser)

    def test_a_revoked_key_is_out_at_once(self, browser: httpx.Client, host: Psycopg) -> None:
        signed_in(browser, key(host))
        assert is_in(browser)
        for one in host.run(auth.keys()):
            host.run(auth.revoke_key(one.id))
        assert not is_in(browser)

    def test_another_admin_key_ends_its_sessions(
        self, browser: httpx.Client, server: embedded.Server, simulator: Running
    ) -> None:
        signed_in(browser)
        cookie = {"cookie": f"counterfoil_admin={browser.cookies['counterfoil_admin']}"}
        for changed, status in ((ADMIN_KEY, 200), (ADMIN_KEY + "-changed", 303)):
            with serving(server.url, simulator, COUNTERFOIL_ADMIN_KEY=changed) as other:
                said = httpx.get(f"{other.url}/admin/attention", headers=cookie, trust_env=False)
            assert said.status_code == status


class TestASession:
    def test_the_cookie(self, browser: httpx.Client) -> None:
        """Not for scripts, not for other sites' pages, not for the shop."""
        cookie = browser.post(SIGN_IN, data={"key": ADMIN_KEY}).headers["set-cookie"]
        for part in ("HttpOnly", "SameSite=strict", "Path=/admin", "Max-Age=604800"):
            assert part in cookie
        assert ADMIN_KEY not in cookie
        assert "Secure" not in cookie

    def test_over_https_it_is_secure(self, server: embedded.Server, database: str, simulator: Running) -> None:
        with serving(server.url, simulator, COUNTERFOIL_PUBLIC_URL="https://shop.test") as service:
            said = httpx.post(f"{service.url}{SIGN_IN}", data={"key": ADMIN_KEY}, trust_env=False)
        assert "Secure" in said.headers["set-cookie"]

    @pytest.mark.parametrize("token", ["", "x", "é", "0" * 43, "0" * 42 + "%00"])
    def test_a_token_of_nobody(self, browser: httpx.Client, token: str) -> None:
        cookie = f"counterfoil_admin={token}".encode()
        assert browser.get("/admin/attention", headers=[(b"cookie", cookie)]).status_code == 303

    def test_it_ends_after_eight_idle_hours(self, browser: httpx.Client, clock: Clock) -> None:
        signed_in(browser)
        for _ in range(3):
            clock.advance(hours=7, minutes=59)
            assert is_in(browser)
        clock.advance(hours=8, minutes=1)
        assert not is_in(browser)

    def test_and_after_seven_days_in_any_case(self, browser: httpx.Client, clock: Clock) -> None:
        signed_in(browser)
        for _ in range(23):
            clock.advance(hours=7)
            assert is_in(browser)
        clock.advance(hours=7)
        assert not is_in(browser)

    def test_what_a_page_fetches_by_itself_keeps_nobody_in(self, browser: httpx.Client, clock: Clock) -> None:
        signed_in(browser)
        clock.advance(hours=7)
        assert browser.get("/admin/attention", headers={"Sec-Fetch-Mode": "cors"}).status_code == 200
        clock.advance(hours=2)
        assert not is_in(browser)

    def test_signed_out(self, browser: httpx.Client) -> None:
        """Also for whoever kept the token."""
        signed_in(browser)
        token = browser.cookies["counterfoil_admin"]
        said = browser.post("/admin/sign-out")
        assert (said.status_code, said.headers["location"]) == (303, SIGN_IN)
        assert "counterfoil_admin" not in browser.cookies
        kept = browser.get("/admin/attention", headers={"cookie": f"counterfoil_admin={token}"})
        assert kept.status_code == 303

    @pytest.mark.parametrize(
        ("user_agent", "shown"),
        [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0", "Firefox on Linux"),
            ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18.0 Safari/605.1.15", "Safari on macOS"),
            ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
            ("Mozilla/5.0 (Linux; Android 15) Chrome/140.0 Mobile Safari/537.36", "Chrome on Android"),
            ("<script>", "A browser"), ("", "A browser"),
        ],
    )  # fmt: skip
    def test_its_browser_in_a_few_words(self, user_agent: str, shown: str) -> None:
        assert browser_of(user_agent) == shown


class TestTooManyTries:
    """Counted in the database: the same for every process."""

    def test_of_an_address(self, browser: httpx.Client, service: Service, host: Psycopg, clock: Clock) -> None:
        account(host, Role.STAFF, "mina@seller.test")
        for number in range(10):
            assert sign_in(browser, f"{number}@seller.test").status_code == 403
        said = sign_in(browser, "mina@seller.test")
        assert said.status_code == 429
        assert 0 < int(said.headers["retry-after"]) <= 900
        assert "Try again in 15 minutes" in said.text
        assert 'value="mina@seller.test"' in said.text
        assert browser.post(SIGN_IN, data={"key": ADMIN_KEY}).status_code == 429
        # The form itself, and the API, are as they were.
        assert browser.get(SIGN_IN).status_code == 200
        service.get("/v1/codes")
        clock.advance(minutes=15, seconds=1)
        assert sign_in(browser, "mina@seller.test").status_code == 303

    def test_of_an_account_from_many_addresses(
        self, server: embedded.Server, simulator: Running, host: Psycopg, connection: psycopg.Connection[Any]
    ) -> None:
        """A hundred, however many processes saw them; that its owner gets in meanwhile forgets none."""
        account(host, Role.STAFF, "mina@seller.test")
        account(host, Role.STAFF, "noah@seller.test")
        settings = load(COUNTERFOIL_DATABASE_URL=server.url, **SETTINGS)
        name = FROM_ANYWHERE.name("account mina@seller.test", settings)
        for _ in range(97):
            assert not host.run(FROM_ANYWHERE.once([name]))
        with serving(server.url, simulator) as one, serving(server.url, simulator) as two:
            for service, password, status in (
                (one, "wrong horse battery", 403), (two, PASSWORD, 303), (one, "wrong horse battery", 403),
                (two, "wrong horse battery", 403), (one, PASSWORD, 429), (two, PASSWORD, 429),
            ):  # fmt: skip
                with httpx.Client(base_url=service.url, trust_env=False) as browser:
                    assert sign_in(browser, "MINA@seller.test", password).status_code == status
                _from_another_address(connection, name)
            with httpx.Client(base_url=one.url, trust_env=False) as browser:
                assert sign_in(browser, "noah@seller.test").status_code == 303

    def test_one_address_keeps_nobody_else_out(
        self,
        browsers: Callable[[], httpx.Client],
        server: embedded.Server,
        host: Psycopg,
        connection: psycopg.Connection[Any],
    ) -> None:
        """Nor out of changing their password, who are in already."""
        account(host, Role.STAFF, "mina@seller.test")
        mina, stranger = browsers(), browsers()
        sign_in(mina, "mina@seller.test")
        for _ in range(10):
            assert sign_in(stranger, "mina@seller.test", "wrong horse battery").status_code == 403
        assert sign_in(stranger, "mina@seller.test").status_code == 429
        settings = load(COUNTERFOIL_DATABASE_URL=server.url, **SETTINGS)
        _from_another_address(connection, FROM_ANYWHERE.name("account mina@seller.test", settings))
        assert sign_in(browsers(), "mina@seller.test").status_code == 303
        new = {"present": PASSWORD, "new": "another horse battery", "again": "another horse battery"}
        said = mina.post("/admin/account/password", data=new)
        assert (said.status_code, said.headers.get("location")) == (303, "/admin/account?changed=true")

    def test_going_in_counts_nothing(self, browser: httpx.Client, host: Psycopg) -> None:
        account(host, Role.STAFF, "mina@seller.test")
        for _ in range(12):
            assert sign_in(browser, "mina@seller.test").status_code == 303

    def test_many_at_once_are_many(self, service: Service, host: Psycopg) -> None:
        """A try is counted before it is made."""
        account(host, Role.STAFF, "mina@seller.test")
        with ThreadPoolExecutor(15) as threads:
            said = list(
                threads.map(
                    lambda _: (
                        httpx.post(
                            f"{service.url}{SIGN_IN}",
                            data={"email": "mina@seller.test", "password": "wrong horse battery"},
                            trust_env=False,
                            timeout=60,
                        ).status_code
                    ),
                    range(15),
                )
            )
        assert sorted(said) == [403] * 10 + [429] * 5

    def test_whoever_waited_counts_those_who_went_before(
        self, database: str, clock: Clock, connection: psycopg.Connection[Any]
    ) -> None:
        """A try that waits for another's row came after it, however early it began."""
        once = "SELECT counterfoil.try_once('{somewhere}', 2, '1 hour') = '0'"
        with psycopg.connect(database) as first, psycopg.connect(database) as second:
            assert first.execute(once).fetchone() == (True,)
            with beside(lambda: second.execute(once).fetchone()) as answer:
                wait_until_blocked(connection, second.info.backend_pid, first.info.backend_pid)
                assert first.execute(once).fetchone() == (True,)
                first.commit()
                assert answer.result(20) == (False,)


def _from_another_address(connection: psycopg.Connection[Any], keep: str) -> None:
    """As if the next try came from another address: all but what an account is counted by is forgotten."""
    connection.execute("DELETE FROM counterfoil.throttle WHERE name <> %s", (keep,))


class TestFormsOfOtherSites:
    @pytest.mark.parametrize(
        "headers", [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://x.test"},
                    {"Origin": "null"}],
    )  # fmt: skip
    def test_let_nobody_in(self, browser: httpx.Client, headers: dict[str, str]) -> None:
        assert browser.post(SIGN_IN, data={"key": ADMIN_KEY}, headers=headers).status_code == 403
        assert not is_in(browser)


class TestTwoOwnersAtOnce:
    def test_a_role_that_was_taken_is_not_given_back_unseen(self, signed: SignIn, host: Psycopg) -> None:
        """One takes a colleague's role away; the other, whose form is older, corrects the name."""
        staff, browser = account(host, Role.STAFF), signed(Role.OWNER)
        form = {"name": "Renamed", "role": "staff", "was_name": staff.name, "was_role": "staff"}
        host.run(accounts.change(id=staff.id, name=staff.name, role=Role.READ_ONLY))
        said = browser.post(f"/admin/accounts/{staff.id}", data=form)
        assert (said.status_code, "Somebody else changed this account meanwhile" in said.text) == (409, True)
        [now] = host.run(accounts.accounts(id=staff.id))
        assert (now.name, now.role) == (staff.name, Role.READ_ONLY)
        # The form shows what it is now, and saves.
        assert 'name="was_role" value="read-only"' in said.text
        assert browser.post(f"/admin/accounts/{staff.id}", data=form | {"was_role": "read-only"}).status_code == 303
        [now] = host.run(accounts.accounts(id=staff.id))
        assert (now.name, now.role) == ("Renamed", Role.STAFF)


class TestTheLastOwner:
    def test_stays(self, host: Psycopg) -> None:
        one, staff = account(host, Role.OWNER), account(host, Role.STAFF)
        with pytest.raises(accounts.LastOwner):
            host.run(accounts.change(id=one.id, name="A", role=Role.STAFF))
        with pytest.raises(accounts.LastOwner):
            host.run(accounts.disable(id=one.id))
        assert host.run(accounts.change(id=staff.id, name="B", role=Role.OWNER))
        assert host.run(accounts.disable(id=one.id))
        with pytest.raises(accounts.LastOwner):
            host.run(accounts.disable(id=staff.id))
        assert not host.run(accounts.disable(id=0))


def test_who_signs_in_is_kept_apart(signed: SignIn, browsers: Callable[[], httpx.Client]) -> None:
    """Each has a session of their own; a new browser has none."""
    staff, owner = signed(Role.STAFF), signed(Role.OWNER)
    staff.post("/admin/sign-out")
    assert (is_in(staff), is_in(owner), is_in(browsers())) == (False, True, False)
