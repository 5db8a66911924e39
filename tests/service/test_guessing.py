"""Whoever types wrong codes on public pages waits; a class that types well does not; a wait tells nothing of a code."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import httpx
import psycopg
import pytest
from tests.conftest import Clock
from tests.support.serving import Service, serving

from counterfoil import embedded
from counterfoil.guessing import WRONG_CODES_PER_ADDRESS
from counterfoil.simulator import Running

UNKNOWN = "We do not recognise this code. Check it with whoever gave it to you."
WAIT = re.compile(r"Too many wrong codes were typed\. Wait (\d+ minutes|a minute|\d+ seconds), then try yours again\.")


class Browser:
    """Somebody on the shop's pages, at an address."""

    everyone: ClassVar[list[httpx.Client]] = []

    def __init__(self, service: Service, address: str = "192.0.2.1") -> None:
        self.client = httpx.Client(base_url=service.url, headers={"X-Forwarded-For": address, "Origin": service.url})
        self.everyone.append(self.client)

    def price(self, code: str) -> httpx.Response:
        return self.client.get("/products/hub/price", params={"code": code})

    def page(self, code: str) -> httpx.Response:
        return self.client.get("/products/hub", params={"code": code})

    def look(self, code: str) -> httpx.Response:
        return self.client.post("/products/hub", data={"code": code, "buyer": "ada@school.test", "look": "yes"})

    def buy(self, code: str, buyer: str = "ada@school.test") -> httpx.Response:
        return self.client.post("/products/hub", data={"code": code, "buyer": buyer})

    def guess(self, number: int, first: int = 0) -> list[int]:
        return [self.price(f"WRONG-{first + one}").status_code for one in range(number)]


@pytest.fixture(autouse=True)
def _leaving() -> Iterator[None]:
    yield
    while Browser.everyone:
        Browser.everyone.pop().close()


def told(answer: httpx.Response) -> str:
    found = re.search(r'<p class="told" role="status">(.*?)</p>', answer.text)
    return found[1].strip() if found else ""


@contextmanager
def open_shop(server: embedded.Server, simulator: Running, **settings: str) -> Iterator[Service]:
    """A shop that believes its proxy, so that a test can come from where it likes."""
    with serving(server.url, simulator, COUNTERFOIL_TRUSTED_PROXIES="127.0.0.1", **settings) as service:
        service.code("NORTH-26", cap=50)
        yield service


@pytest.fixture
def shop(database: str, server: embedded.Server, simulator: Running, clock: Clock) -> Iterator[Service]:
    with open_shop(server, simulator) as service:
        yield service


class TestAnAddress:
    def test_waits_after_thirty_and_until_the_first_is_ten_minutes_old(self, shop: Service, clock: Clock) -> None:
        browser = Browser(shop)
        assert set(browser.guess(WRONG_CODES_PER_ADDRESS)) == {200}
        refused = browser.price("WRONG-X")
        assert (refused.status_code, told(refused)) == (
            429,
            "Too many wrong codes were typed. Wait 10 minutes, then try yours again.",
        )
        assert 590 <= int(refused.headers["Retry-After"]) <= 600
        clock.advance(minutes=9)
        assert told(browser.price("WRONG-X")) == "Too many wrong codes were typed. Wait a minute, then try yours again."
        clock.advance(minutes=1)
        assert told(browser.price("NORTH-26")) == ""

    def test_the_wait_tells_nothing_of_a_code(self, shop: Service) -> None:
        """A right one waits as a wrong one does, on every page, with the same answer."""
        shop.code("PAUSED-26", cap=5)
        shop.client.patch("/v1/codes/PAUSED-26", json={"paused": True}).raise_for_status()
        browser = Browser(shop)
        browser.guess(WRONG_CODES_PER_ADDRESS)
        for ask in (browser.price, browser.page, browser.look, browser.buy):
            answers = [ask(code) for code in ("NORTH-26", "WRONG-99", "PAUSED-26")]
            assert {answer.status_code for answer in answers} == {429}
            assert all(WAIT.fullmatch(told(answer)) for answer in answers)
        assert shop.get("/v1/codes/NORTH-26/usage")["held"] == 0

    def test_full_price_and_other_addresses_go_on(self, shop: Service) -> None:
        browser = Browser(shop)
        browser.guess(WRONG_CODES_PER_ADDRESS + 5)
        assert browser.page("").status_code == 200
        assert browser.buy("").status_code == 303
        assert Browser(shop, "192.0.2.2").buy("NORTH-26").status_code == 303

    def test_an_open_checkout_goes_on(self, shop: Service) -> None:
        browser = Browser(shop)
        held = browser.buy("NORTH-26").headers["Location"]
        browser.guess(WRONG_CODES_PER_ADDRESS)
        assert "Your place is held" in browser.client.get(held).text
        assert browser.page("NORTH-26").text.count(held) == 1, "it is offered beside the wait"

    def test_of_ipv6_is_its_network(self, shop: Service) -> None:
        for number in range(WRONG_CODES_PER_ADDRESS):
            Browser(shop, f"2001:db8:1:2::{number:x}").price(f"WRONG-{number}")
        assert Browser(shop, "2001:db8:1:2:ffff::1").price("NORTH-26").status_code == 429
        assert Browser(shop, "2001:db8:1:3::1").price("NORTH-26").status_code == 200

    def test_callers_with_a_key_are_not_counted(self, shop: Service) -> None:
        for number in range(WRONG_CODES_PER_ADDRESS + 5):
            quoted = shop.post("/v1/quotes", {"product": "hub", "code": f"WRONG-{number}"})
            assert quoted["code"] == "code-unknown"


class TestAClassBehindOneAddress:
    def test_that_was_given_one_wrong_code_counts_as_one(self, shop: Service) -> None:
        """However it is typed."""
        browser = Browser(shop)
        for number in range(100):
            assert browser.buy(("NORTH-62", "north 62", "N0RTH62")[number % 3]).status_code == 422
        assert browser.buy("NORTH-26").status_code == 303

    def test_that_types_well_is_never_locked_out_by_one_pupils_typos(self, shop: Service) -> None:
        """Twenty codes in a row that are none, among two hundred times the right one."""
        browser = Browser(shop)
        for number in range(200):
            assert told(browser.price("north-26")) == ""
            if number % 10 == 0:
                assert told(browser.price(f"NORTH-{number}")) == UNKNOWN

    def test_with_a_code_for_each_is_not_counted(self, shop: Service) -> None:
        """Right codes never count, however many."""
        browser = Browser(shop)
        for number in range(WRONG_CODES_PER_ADDRESS + 10):
            shop.code(f"PUPIL-{number:03}", cap=1)
            assert browser.price(f"PUPIL-{number:03}").status_code == 200

    def test_a_paused_code_counts_as_an_unknown_one_does(self, shop: Service) -> None:
        """Else whoever counts their tries tells one from the other. Once it works again, it counts no more."""
        shop.client.patch("/v1/codes/NORTH-26", json={"paused": True}).raise_for_status()
        browser = Browser(shop)
        browser.guess(WRONG_CODES_PER_ADDRESS - 2)
        assert browser.price("NORTH-26").status_code == 200
        shop.client.patch("/v1/codes/NORTH-26", json={"paused": False}).raise_for_status()
        assert browser.price("NORTH-26").status_code == 200
        assert browser.price("WRONG-A").status_code == 200
        assert browser.price("WRONG-B").status_code == 200
        assert browser.price("WRONG-C").status_code == 429


class TestABurst:
    def settings(self, **more: str) -> dict[str, str]:
        return {
            "COUNTERFOIL_WRONG_CODES_PER_ADDRESS": "5",
            "COUNTERFOIL_WRONG_CODES_ALERT": "12",
            "COUNTERFOIL_SELLER_MAIL": "seller@shop.example",
            **more,
        }

    def matters(self, service: Service) -> list[Any]:
        found: list[Any] = service.get("/v1/attention", kind="guessing", resolved="false")["data"]
        return found

    def attack(self, service: Service, addresses: range) -> None:
        for number in addresses:
            Browser(service, f"198.51.100.{number}").guess(5, first=100 * number)

    def test_is_put_before_the_seller_once_and_mailed_once_in_a_day(
        self,
        database: str,
        server: embedded.Server,
        simulator: Running,
        clock: Clock,
        connection: psycopg.Connection[Any],
    ) -> None:
        with open_shop(server, simulator, **self.settings()) as service:
            self.attack(service, range(2))
            assert self.matters(service) == []
            self.attack(service, range(2, 9))
            first = self.matters(service)
            assert [(one["subject"], one["detail"]["wrong"], one["detail"]["addresses"]) for one in first] == [
                ("codes", 12, 3)
            ]
            assert "wait for everybody" in first[0]["mend"]
            service.post(f"/v1/attention/{first[0]['id']}/resolve", status=200)
            # Later on the same day it is news, and no other mail.
            clock.advance(hours=2)
            self.attack(service, range(20, 26))
            assert [one["id"] for one in self.matters(service)] == [first[0]["id"]]
            mails = connection.execute("SELECT kind, recipient FROM counterfoil.mail").fetchall()
            assert mails == [("guessing", "seller@shop.example")]
            assert Browser(service).price("NORTH-26").status_code == 200, "nothing was stopped"
            clock.advance(hours=23)
            self.attack(service, range(30, 36))
            assert len(connection.execute("SELECT FROM counterfoil.mail").fetchall()) == 2

    def test_lets_codes_wait_for_everybody_if_that_is_wished(
        self, database: str, server: embedded.Server, simulator: Running, clock: Clock
    ) -> None:
        with open_shop(server, simulator, **self.settings(COUNTERFOIL_GUESSING_PAUSE="15m")) as service:
            pupil = Browser(service)
            held = pupil.buy("NORTH-26").headers["Location"]
            self.attack(service, range(3))
            waits = pupil.buy("NORTH-26", "bo@school.test")
            assert (waits.status_code, told(waits)) == (
                429,
                "Too many wrong codes were typed. Wait 15 minutes, then try yours again.",
            )
            assert "UTC" in self.matters(service)[0]["detail"]["waits_until"]
            assert pupil.buy("", "bo@school.test").status_code == 303, "the full price goes on"
            assert "Your place is held" in pupil.client.get(held).text
            service.open("cy@school.test", "NORTH-26")
            clock.advance(minutes=16)
            # What was counted before is not counted again: one more wrong code stops nobody.
            assert told(pupil.price("WRONG")) == UNKNOWN
            assert pupil.buy("NORTH-26", "dee@school.test").status_code == 303

    def test_below_it_nothing_happens(self, shop: Service) -> None:
        self.attack(shop, range(3))
        assert self.matters(shop) == []


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every statement that the services of this process send, in order: their texts."""
    sent: list[str] = []
    execute = psycopg.AsyncCursor.execute

    async def noted(self: Any, query: Any, *arguments: Any, **more: Any) -> Any:
        sent.append(query.decode() if isinstance(query, bytes) else str(query))
        return await execute(self, query, *arguments, **more)

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", noted)
    return sent


class TestTheAnswerToAWrongCode:
    @pytest.fixture
    def codes(self, shop: Service) -> dict[str, str]:
        """One of each kind. The paused one is for another currency as well: nothing of that shows."""
        shop.code("PAUSED-26", cap=5)
        shop.client.patch(
            "/v1/codes/PAUSED-26", json={"paused": True, "discount": {"amount_off": 5, "currency": "eur"}}
        ).raise_for_status()
        shop.code("ENDED-26", ends_on="2024-06-30")
        shop.code("LATER-26", starts_on="2099-06-30")
        shop.code("NOBODY-26", cap=0)
        shop.code("EURO-26", discount={"amount_off": 5, "currency": "eur"})
        return {
            "known": "NORTH-26", "unknown": "NOTHING-26", "paused": "PAUSED-26", "ended": "ENDED-26",
            "not open": "LATER-26", "full": "NOBODY-26", "another currency": "EURO-26",
        }  # fmt: skip

    @pytest.mark.parametrize("way", ["price", "page", "look"])
    def test_takes_the_statements_of_a_right_one(
        self, shop: Service, codes: dict[str, str], wire: list[str], way: str
    ) -> None:
        taken = {}
        for kind, code in codes.items():
            wire.clear()
            getattr(Browser(shop), way)(code)
            taken[kind] = list(wire)
        assert len(taken["known"]) >= 4
        for kind, sent in taken.items():
            assert sent == taken["known"], kind

    def test_takes_the_same_whether_it_is_unknown_or_paused_when_one_buys(
        self, shop: Service, codes: dict[str, str], wire: list[str]
    ) -> None:
        taken = []
        for kind in ("unknown", "paused"):
            wire.clear()
            assert Browser(shop).buy(codes[kind]).status_code == 422
            taken.append(list(wire))
        assert taken[0] == taken[1]

    @pytest.mark.parametrize("way", ["price", "page", "look", "buy"])
    def test_is_the_same_whether_it_is_unknown_or_paused(self, shop: Service, codes: dict[str, str], way: str) -> None:
        answers = [getattr(Browser(shop), way)(codes[kind]) for kind in ("unknown", "paused")]
        assert [told(one) for one in answers] == [UNKNOWN, UNKNOWN]
        assert answers[0].status_code == answers[1].status_code
        bodies = [one.text.replace(codes[kind], "…") for one, kind in zip(answers, ("unknown", "paused"), strict=True)]
        assert bodies[0] == bodies[1]
        dull = [
            {k: v for k, v in one.headers.items() if k not in ("date", "content-length", "set-cookie")}
            for one in answers
        ]
        assert dull[0] == dull[1]

    def test_its_reason_is_in_the_log_and_what_was_typed_is_not(
        self, shop: Service, codes: dict[str, str], caplog: pytest.LogCaptureFixture
    ) -> None:
        """What was typed may be anything: an address, a password."""
        with caplog.at_level(logging.INFO, logger="counterfoil.service.pages.shop.trying"):
            browser = Browser(shop)
            for code in (*codes.values(), "ada@private.example"):
                browser.price(code)
            browser.guess(WRONG_CODES_PER_ADDRESS)
        said = [(one.__dict__["reason"], one.__dict__["code"]) for one in caplog.records if "reason" in one.__dict__]
        assert said[:6] == [
            ("unknown", None), ("paused", "PAUSED-26"), ("ended", "ENDED-26"), ("not_open", "LATER-26"),
            ("spent", "NOBODY-26"), ("unknown", None),
        ]  # fmt: skip
        assert said[-1] == ("guessing", None)
        assert "ada@private" not in caplog.text
        assert "192.0.2.1" not in caplog.text

    def test_and_the_table_tells_neither_codes_nor_addresses(
        self, shop: Service, connection: psycopg.Connection[Any]
    ) -> None:
        Browser(shop).price("NOTHING-26")
        rows = connection.execute("SELECT origin, code, wrong FROM counterfoil.guess").fetchall()
        assert [(len(origin), len(code), wrong) for origin, code, wrong in rows] == [(64, 64, True)]
        assert "noth1ng26" not in str(rows)


def test_what_counts_no_more_is_forgotten(shop: Service, clock: Clock, connection: psycopg.Connection[Any]) -> None:
    Browser(shop).guess(9)
    clock.advance(minutes=11)
    Browser(shop, "192.0.2.9").price("NORTH-26")
    assert connection.execute("SELECT count(*) FROM counterfoil.guess WHERE wrong").fetchone() == (0,)


def test_switched_off(database: str, server: embedded.Server, simulator: Running, clock: Clock) -> None:
    off = {"COUNTERFOIL_WRONG_CODES_PER_ADDRESS": "0", "COUNTERFOIL_WRONG_CODES_ALERT": "0"}
    with open_shop(server, simulator, **off) as service:
        assert set(Browser(service).guess(WRONG_CODES_PER_ADDRESS + 10)) == {200}
