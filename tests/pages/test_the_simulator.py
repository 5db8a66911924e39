"""The simulator's own pages, as everybody sees them: the payment page in each of its states, and its desk."""

import re

from playwright.sync_api import Browser
from tests.conftest import Clock
from tests.pages.conftest import Visitor
from tests.support.serving import Service

from counterfoil.demo.sample import ROOMY
from counterfoil.simulator import Fault, Running

HUB = "numerical-hub"


def test_the_payment_page(visitor: Visitor, simulator: Running) -> None:
    """Open, declined, asking the bank, and paid."""
    visitor.order(HUB, "ada@harrow.example", ROOMY)
    visitor.page.get_by_role("link", name=re.compile("^Pay ")).click()
    visitor.heading("Pay the seller £14.50")
    visitor.walk("till")
    page = visitor.page.url
    visitor.pay("4000 0000 0000 0002")
    visitor.says("declined")
    visitor.walk(again=False)
    visitor.pay("4000 0027 6000 3184")
    visitor.heading("Is it you?")
    visitor.walk(again=False)
    visitor.page.get_by_role("button", name="It is me: pay").click()
    visitor.heading("Thank you, it is yours")
    visitor.go(page)
    visitor.heading("You are all done here")
    visitor.walk()


def test_a_page_that_is_over(visitor: Visitor, simulator: Running, clock: Clock) -> None:
    visitor.order(HUB, "ada@harrow.example", ROOMY)
    visitor.page.get_by_role("link", name=re.compile("^Pay ")).click()
    visitor.heading("Pay the seller £14.50")
    clock.advance(minutes=32)
    visitor.page.reload()
    visitor.heading("This page has expired")
    visitor.walk()
    visitor.go(f"{simulator.base_url}/pay/cs_test_nothing")
    visitor.heading("There is no such page")
    visitor.walk()


def test_the_desk(shop_front: Service, simulator: Running, chrome: Browser) -> None:
    """With something in each of its lists."""
    shop_front.open("ada@harrow.example", ROOMY, product=HUB)
    simulator.fail_next(Fault("reset", "GET", "*", times=3))
    visitor = Visitor(chrome, simulator.base_url)
    visitor.go("/_simulator/")
    visitor.heading("Stripe simulator")
    visitor.walk("simulator")
    visitor.close()
    simulator.call(simulator.account.faults.clear)
