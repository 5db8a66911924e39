"""Live pages: a stream that says that something changed, and that ends when it should."""

import asyncio
import queue
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

import httpx
import psycopg
import pytest
from tests.support.admin import SIGN_IN, SignIn, account, signed_in
from tests.support.commands import SETTINGS, line_with, started
from tests.support.serving import ADMIN_KEY, Service

from counterfoil import embedded
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service import accounts, changes
from counterfoil.service.pages.admin import live
from counterfoil.service.roles import Role
from counterfoil.simulator import Running


class Listener:
    """Whoever listens: what came, line by line; None at its end."""

    def __init__(self, browser: httpx.Client) -> None:
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._answer = browser.stream("GET", "/admin/live")
        answer = self._answer.__enter__()
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        threading.Thread(target=self._read, args=(answer,), daemon=True).start()
        assert self.hears() == "retry: 2000"

    def _read(self, answer: httpx.Response) -> None:
        try:
            for line in answer.iter_lines():
                if line:
                    self._lines.put(line)
        except httpx.HTTPError:
            pass
        self._lines.put(None)

    def hears(self) -> str | None:
        """The next line, however long it takes within reason."""
        return self._lines.get(timeout=20)

    def hears_a_change(self) -> bool:
        """Whether the next is that something changed."""
        return (self.hears(), self.hears()) == ("event: changed", "data:")

    def has_heard(self) -> list[str | None]:
        """What came until now and was not read."""
        return [self._lines.get_nowait() for _ in range(self._lines.qsize())]

    def close(self) -> None:
        self._answer.__exit__(None, None, None)


class Newer:
    """A database in which something is newer at each look."""

    looks = 0

    async def run(self, _: object) -> Any:
        self.looks += 1
        return str(self.looks)


@contextmanager
def listening(browser: httpx.Client) -> Iterator[Listener]:
    one = Listener(browser)
    try:
        yield one
    finally:
        one.close()


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session is looked at ten times a second."""
    monkeypatch.setattr(live, "CHECK", 0.1)


class TestChanges:
    def test_each_who_listens_hears_of_it(self, signed: SignIn, service: Service) -> None:
        with listening(signed(None)) as one, listening(signed(Role.READ_ONLY)) as two:
            # The session that was begun is a change as well, if it was not there at the first look.
            one.has_heard()
            service.code()
            assert one.hears_a_change()
            assert two.hears_a_change()

    def test_a_sale_and_a_matter(self, signed: SignIn, service: Service, host: Psycopg) -> None:
        from counterfoil import verbs

        service.code()
        with listening(signed(None)) as one:
            service.open("a@school.test")
            assert one.hears_a_change()
            one.has_heard()
            host.run(verbs.raise_attention(kind="drift", subject="cs_1", detail={}))
            assert one.hears_a_change()

    def test_a_heartbeat_while_nothing_does(
        self, signed: SignIn, quickly: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(live, "HEARTBEAT", 0.2)
        with listening(signed(None)) as one:
            assert ": still here" in (one.hears(), one.hears(), one.hears())


class TestItsEnd:
    def test_with_the_session(self, signed: SignIn, quickly: None, browsers: Callable[[], httpx.Client]) -> None:
        browser = signed(Role.STAFF)
        with listening(browser) as one:
            other = browsers()
            other.cookies.update(browser.cookies)
            assert other.post("/admin/sign-out").status_code == 303
            while (line := one.hears()) is not None:
                assert line in ("event: changed", "data:")

    def test_with_the_account(self, signed: SignIn, quickly: None, host: Psycopg) -> None:
        with listening(signed(Role.STAFF)) as one:
            host.run(accounts.disable(id=host.run(accounts.accounts())[0].id))
            while (line := one.hears()) is not None:
                assert line in ("event: changed", "data:")

    def test_whoever_is_not_signed_in_hears_nothing(self, browser: httpx.Client) -> None:
        said = browser.get("/admin/live")
        assert (said.status_code, said.headers["location"]) == (303, SIGN_IN)

    async def test_one_look_for_all_and_none_when_they_are_gone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(changes, "LOOK", 0)
        database, all_of_them = Newer(), changes.Changes()
        async with all_of_them.listening(database) as one, all_of_them.listening(database) as two:
            await one.wait()
            await two.wait()
            assert database.looks == 2
        database.looks = 0
        for _ in range(3):
            await asyncio.sleep(0)
        assert database.looks == 0

    async def test_who_comes_at_the_end_is_let_go_at_once(self) -> None:
        ending = changes.Changes()
        ending.end()
        async with ending.listening(Newer()) as one:
            assert one.is_set()

    @pytest.mark.parametrize("workers", ["1", "2"])
    def test_the_service_ends_at_once(
        self, server: embedded.Server, database: str, simulator: Running, workers: str
    ) -> None:
        settings = SETTINGS | {
            "COUNTERFOIL_DATABASE_URL": database, "COUNTERFOIL_ADMIN_KEY": ADMIN_KEY,
            "STRIPE_API_BASE": simulator.base_url,
        }  # fmt: skip
        with started("serve", "--port", "0", "--workers", workers, **settings) as process:
            url = line_with(process, "counterfoil listens on").split()[3]
            with httpx.Client(base_url=url, trust_env=False, timeout=30) as browser:
                signed_in(browser)
                with listening(browser) as one:
                    told_at = monotonic()
                    process.send_signal(signal.SIGTERM)
                    while one.hears() is not None:
                        pass
                    assert process.wait(30) == 0
                    # Without being let go, it would be cut off after thirty seconds.
                    assert monotonic() - told_at < 10
            assert process.stderr
            assert "Traceback" not in process.stderr.read()


def test_it_keeps_nobody_signed_in(
    signed: SignIn, connection: psycopg.Connection[tuple[object, ...]], quickly: None, host: Psycopg
) -> None:
    """Listening is not being at work."""
    browser = signed(Role.STAFF)
    connection.execute("UPDATE counterfoil.account_session SET last_seen_at = last_seen_at - interval '1 hour'")
    before = connection.execute("SELECT last_seen_at FROM counterfoil.account_session").fetchall()
    with httpx.Client(base_url=browser.base_url, cookies=browser.cookies, trust_env=False) as page:
        page.headers["Sec-Fetch-Mode"] = "cors"
        with listening(page) as one:
            account(host, Role.READ_ONLY)
            assert one.hears_a_change()
    assert connection.execute("SELECT last_seen_at FROM counterfoil.account_session").fetchall() == before


@pytest.mark.parametrize("path", ["/admin", "/admin/codes", "/admin/redemptions", "/admin/institutions/northfold"])
def test_a_list_is_live_while_it_is_empty(staff: httpx.Client, service: Service, path: str) -> None:
    """So that the first of it is seen without a reload: the region is there before, and by the same name after."""

    def list_of(page: httpx.Response) -> list[str]:
        (around,) = re.findall(
            r'<div id="([\w-]+)" data-live="/admin/live">(.*?)</div>\s*(?=</main>|<h2>)', page.text, re.DOTALL
        )
        return list(around)

    if path.endswith("northfold"):
        service.post("/v1/institutions", {"name": "Northfold", "time_zone": "Europe/London"}, status=201)
        service.post("/v1/products", {"id": "hub", "name": "Hub", "amount": 2000, "currency": "gbp", "unlocks": []})
    before = list_of(staff.get(path))
    assert 'class="empty"' in before[1]
    service.code()
    service.open("a@school.test")
    after = list_of(staff.get(path))
    assert after[0] == before[0]
    assert 'class="empty"' not in after[1]


def test_times_as_the_reader_writes_them(signed: SignIn, service: Service) -> None:
    """Of what has no zone of its own: days by the reader's language, the moment for programs, and the zone said."""
    owner = signed(Role.OWNER)
    service.code()
    shown = [
        owner.get(path, headers={"Accept-Language": language}).text
        for path in ("/admin/audit", "/admin/accounts")
        for language in ("de", "en-US")
    ]
    for german, american in (shown[:2], shown[2:]):
        assert re.search(r'<time datetime="[\d-]+T[\d:+]+">\d+\. \w+ \d{4}, \d\d:\d\d UTC</time>', german)
        assert re.search(r'<time datetime="[\d-]+T[\d:+]+">\w+ \d+, \d{4}, \d+:\d\d\s[AP]M UTC</time>', american)
