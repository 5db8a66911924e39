"""The two pictures on the seller's pages, over HTTP: what they say of stories that were lived."""

from __future__ import annotations

import re
from typing import Any

import httpx
from tests.conftest import Clock
from tests.support.admin import text_of
from tests.support.places import Verbs
from tests.support.serving import Service

from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Shop
from counterfoil.simulator import Running

CODE = "/admin/codes/n0rth26"


def picture(page: httpx.Response) -> str:
    """The markup of the page's picture."""
    assert page.status_code == 200
    found = re.search(r'<figure class="picture.*?</figure>', page.text, re.DOTALL)
    assert found
    return found[0]


def said(page: httpx.Response) -> str:
    """What a page says in words, in one line."""
    return " ".join(text_of(page).split())


def table(page: httpx.Response) -> list[list[str]]:
    """Of the picture's table all numbers: completed, pending, held, lapsed, cap."""
    rows = re.findall(r'<tr><th scope="row"><time.*?</tr>', picture(page), re.DOTALL)
    return [re.findall(r'<td class="num">(.*?)</td>', row) for row in rows]


def areas(page: httpx.Response) -> list[set[str]]:
    """What is drawn, in both widths."""
    return [
        set(re.findall(r'<path class="(\w+)" d="M', one)) | set(re.findall(r'fill="url\(#(lapsed)-\w+\)" d=', one))
        for one in re.findall(r'<svg class="(?:desk|phone)".*?</svg>', picture(page), re.DOTALL)
    ]


class TestOfACode:
    def test_where_nobody_was_yet(self, staff: httpx.Client, service: Service) -> None:
        service.code()
        assert "Nobody has taken a place of" in picture(staff.get(CODE))
        assert "<svg" not in picture(staff.get(CODE))

    def test_a_life_that_stayed_under_its_cap(
        self, staff: httpx.Client, service: Service, simulator: Running, clock: Clock
    ) -> None:
        """A place paid, one lapsed and taken back by the next, one under way: each as it was, one after another."""
        service.code(cap=2)
        simulator.pay(service.open("a@school.test")["session_id"])
        clock.advance(minutes=5)
        service.open("b@school.test")
        clock.advance(minutes=45)
        late = service.open("c@school.test")
        clock.advance(minutes=2)
        simulator.pay_delayed(late["session_id"])
        simulator.wait_delivered()
        clock.advance(minutes=2)
        page = staff.get(CODE)
        numbers = [row[:4] for row in table(page)]
        assert numbers[0] == ["0", "0", "1", "0"]
        assert ["1", "0", "1", "0"] in numbers
        assert ["1", "0", "0", "1"] in numbers
        assert numbers[-1] == ["1", "1", "0", "0"]
        assert numbers.index(["1", "0", "0", "1"]) > numbers.index(["1", "0", "1", "0"])
        assert {row[4] for row in table(page)} == {"2"}
        assert areas(page) == [{"completed", "pending", "held", "lapsed", "cap"}] * 2
        assert "Never over the cap. The most places occupied at one moment: 2" in said(page)

    def test_a_late_payment_over_the_cap(
        self, staff: httpx.Client, service: Service, host: Psycopg, shop: Shop, clock: Clock
    ) -> None:
        """It is red, marked, and tied to the redemption that did it."""
        service.code(cap=1)
        do = Verbs(host, shop)
        late = do.reserve("a", "NORTH-26")
        do.attach(late, "cs_1")
        do.release(late)
        clock.advance(minutes=3)
        other = do.reserve("b", "NORTH-26")
        do.attach(other, "cs_2")
        do.settle(other, "cs_2", "paid")
        clock.advance(minutes=3)
        assert do.settle(late, "cs_1", "paid").outcome == "completed_late"
        clock.advance(minutes=3)
        page = staff.get(CODE)
        assert areas(page) == [{"completed", "held", "over", "cap"}] * 2
        assert picture(page).count('class="late-line bad"') == 2
        assert re.search(
            r"Over the cap once.* Since .* up to 1 over the cap: a payment that arrived late was honoured\.", said(page)
        )
        assert f'href="/admin/redemptions/{late.id}"' in picture(page)
        assert "Paid late, over the cap" in said(staff.get(f"/admin/redemptions/{late.id}"))

    def test_a_cap_that_was_lowered_and_raised(
        self, staff: httpx.Client, service: Service, simulator: Running, clock: Clock
    ) -> None:
        """Over from the moment it was lowered, and no longer from when it was raised; nobody came or went between."""
        service.code(cap=4)
        for name in "abc":
            simulator.pay(service.open(f"{name}@school.test")["session_id"])
        period = service.get("/v1/codes/NORTH-26")["period"]
        for cap in (1, 7):
            clock.advance(minutes=30)
            service.client.put(
                f"/v1/codes/NORTH-26/allocations/{period}", json={"cap": cap, "confirm": True}
            ).raise_for_status()
        clock.advance(minutes=30)
        page = staff.get(CODE)
        assert re.search(r"From .* to .* up to 2 over the cap: the cap was lowered to 1\.", said(page))
        assert [row[4] for row in table(page)][-3:] == ["4", "1", "7"]
        labels = re.findall(r'<text class="strong"[^>]*>(cap \d)</text>', picture(page))
        assert sorted(labels) == ["cap 1"] * 2 + ["cap 4"] * 2 + ["cap 7"] * 2

    def test_of_another_period(self, staff: httpx.Client, service: Service) -> None:
        service.code()
        service.open("a@school.test")
        period = service.get("/v1/codes/NORTH-26")["period"]
        following = f"{int(period[:4]) + 1}-{int(period[:4]) % 100 + 2}"
        assert "<svg" in picture(staff.get(f"{CODE}?period={period}"))
        assert f"Nobody has taken a place of {following}" in picture(staff.get(f"{CODE}?period={following}"))

    def test_a_cap_far_above_and_none(self, staff: httpx.Client, service: Service) -> None:
        service.code(cap=5000)
        service.code("OPEN", cap=None)
        for code, words in (("NORTH-26", "A cap of 5,000 is far above, and not drawn."), ("OPEN", "There is no cap.")):
            service.open("a@school.test", code)
            page = staff.get(f"/admin/codes/{code}")
            assert words in said(page)
            assert areas(page) == [{"held"}] * 2


class TestOfARedemption:
    def shown(self, staff: httpx.Client, sale: Any) -> str:
        return said(staff.get(f"/admin/redemptions/{sale['redemption']['id']}"))

    def test_a_hold_and_its_page(self, staff: httpx.Client, service: Service, clock: Clock) -> None:
        service.code()
        sale = service.open("a@school.test")
        clock.advance(minutes=4)
        words = self.shown(staff, sale)
        for part in ("Place, held for at most 40 min", "Payment page, open for at most 31 min"):
            assert part in words
        assert "The payment page ends 9 min before the hold" in words
        clock.advance(minutes=50)
        assert "Hold lapsed" in self.shown(staff, sale)

    def test_long_after_it_was_paid(
        self, staff: httpx.Client, service: Service, simulator: Running, clock: Clock
    ) -> None:
        """What lasts is not drawn to scale: the axis is broken, and it says so."""
        service.code()
        sale = service.open("a@school.test")
        simulator.pay(sale["session_id"])
        simulator.wait_delivered()
        assert "Where the axis is broken" not in self.shown(staff, sale)
        clock.advance(hours=4)
        words = self.shown(staff, sale)
        assert "Where the axis is broken, nothing happened for long" in words
        assert "paid " in words
