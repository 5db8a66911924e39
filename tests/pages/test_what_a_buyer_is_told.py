"""
Every row of the table "what a buyer is told", and every way that a checkout stands: the sentence, exactly its next
step, and the page as all see it.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
import stripe
from playwright.sync_api import Browser
from tests.conftest import Clock
from tests.pages.conftest import Visitor, furnished
from tests.support.serving import Service, serving

from counterfoil import embedded, guessing
from counterfoil.demo.sample import NEARLY_SPENT, ROOMY
from counterfoil.simulator import Fault, Running

HUB = "numerical-hub"
ADA = "ada@harrow.example"


def told(visitor: Visitor) -> str:
    """What the page says of the code, in one line."""
    return re.sub(r"\s+", " ", visitor.page.locator(".told").inner_text()).strip()


def holds(visitor: Visitor, code: str = ROOMY, buyer: str = ADA) -> str:
    """A place is held: the path of its checkout."""
    visitor.order(HUB, buyer, code)
    visitor.heading("Your place is held")
    return urlsplit(visitor.page.url).path


def session_of(shop: Service) -> str:
    """The session of the newest checkout."""
    found: str = shop.get("/v1/checkouts")["data"][0]["session_id"]
    return found


class TestTheTable:
    def test_held(self, visitor: Visitor) -> None:
        """The price before and after, until when, and paying."""
        path = holds(visitor)
        visitor.page.get_by_text(re.compile(r"^\s*Kept until \d\d:\d\d\s+\(3\d more minutes\)\s*$")).wait_for()
        assert visitor.page.locator("dl").inner_text().split() == (
            "Numerical reasoning hub £29.00 Harrow Hill College HARROW-HILL −£14.50 To pay £14.50".split()
        )
        visitor.walk("held")
        assert visitor.page.get_by_role("link", name="Pay £14.50").get_attribute("href")
        assert urlsplit(visitor.page.url).path == path

    def test_all_places_spent(self, visitor: Visitor, another: Visitor) -> None:
        visitor.order(HUB, "ada@lakeside.example", NEARLY_SPENT)
        visitor.page.get_by_role("link", name="Pay £9.00").click()
        visitor.pay()
        visitor.heading("Thank you, it is yours")
        another.order(HUB, "bo@lakeside.example", NEARLY_SPENT)
        another.page.locator(".told").wait_for()
        assert re.fullmatch(
            r"All places for \d{4}-\d\d are taken\. Ask Lakeside School for more places\.", told(another)
        )
        another.walk("spent", again=False)

    def test_all_places_held_or_spent(self, visitor: Visitor, another: Visitor) -> None:
        """When one may come back is told in the school's own zone."""
        holds(visitor, NEARLY_SPENT, "ada@lakeside.example")
        another.order(HUB, "bo@lakeside.example", NEARLY_SPENT)
        another.page.locator(".told").wait_for()
        assert re.fullmatch(
            r"All places are taken at the moment\. "
            r"One place may come back by \d\d:\d\d( on \d+ \w+)?\. Try again then\.",
            told(another),
        )
        another.walk("taken-at-the-moment", again=False)
        another.page.get_by_role("button", name="Try again").wait_for()

    def test_own_hold_exists(self, visitor: Visitor) -> None:
        """The same place and page; and from the catalogue and the product it is one press away."""
        path = holds(visitor)
        assert holds(visitor) == path
        for at in ("/", f"/products/{HUB}"):
            visitor.go(at)
            visitor.page.get_by_text(re.compile(r"Your place is kept until \d\d:\d\d")).wait_for()
            visitor.walk("catalogue-with-an-open-checkout" if at == "/" else None)
            visitor.page.get_by_role("link", name="Continue").click()
            visitor.heading("Your place is held")
            assert urlsplit(visitor.page.url).path == path
        visitor.go("/products/situational-hub")
        assert visitor.page.get_by_role("link", name="Continue").count() == 0

    def test_own_limit_reached(self, visitor: Visitor) -> None:
        holds(visitor)
        visitor.page.get_by_role("link", name="Pay £14.50").click()
        visitor.pay()
        visitor.heading("Thank you, it is yours")
        visitor.order(HUB, ADA, ROOMY)
        visitor.page.locator(".told").wait_for()
        assert told(visitor) == "You have used this code. What it opened is there: My purchases"
        visitor.walk("used", again=False)
        visitor.page.locator(".told").get_by_role("link", name="My purchases").click()
        visitor.heading("My purchases")

    @pytest.mark.parametrize(
        ("dates", "sentence"),
        [
            ({"starts_on": "2031-02-03"}, "This code opens on 3 February 2031."),
            ({"ends_on": "2024-06-30"}, "This code ended on 30 June 2024."),
        ],
    )
    def test_not_open_yet_and_ended(
        self, visitor: Visitor, shop_front: Service, dates: dict[str, str], sentence: str
    ) -> None:
        shop_front.client.patch(f"/v1/codes/{ROOMY}", json=dates).raise_for_status()
        visitor.order(HUB, ADA, ROOMY)
        visitor.page.locator(".told").wait_for()
        assert told(visitor) == sentence
        assert "14.50" not in visitor.page.content()
        visitor.walk(again=False)

    @pytest.mark.parametrize("known", [True, False])
    def test_paused_or_unknown(self, visitor: Visitor, shop_front: Service, known: bool) -> None:
        """The two are the same to a buyer, word for word."""
        if known:
            shop_front.client.patch(f"/v1/codes/{ROOMY}", json={"paused": True}).raise_for_status()
        visitor.order(HUB, ADA, ROOMY if known else "NOBODYS-CODE")
        visitor.page.locator(".told").wait_for()
        assert told(visitor) == "We do not recognise this code. Check it with whoever gave it to you."
        visitor.walk(again=False)

    def test_too_many_wrong_codes(self, visitor: Visitor, shop_front: Service) -> None:
        """The page says so, keeps what was typed, and lets buy without a code."""
        with httpx.Client(base_url=shop_front.url) as elsewhere:
            for number in range(guessing.WRONG_CODES_PER_ADDRESS):
                elsewhere.get(f"/products/{HUB}/price", params={"code": f"WRONG-{number}"})
        visitor.go(f"/products/{HUB}")
        visitor.page.get_by_label("Code from your school").fill(ROOMY)
        visitor.page.keyboard.press("Tab")
        waits = "Too many wrong codes were typed. Wait 10 minutes, then try yours again."
        visitor.says(waits)
        visitor.order(HUB, ADA, ROOMY)
        visitor.page.locator(".told").wait_for()
        assert told(visitor) == waits
        assert visitor.page.get_by_label("Code from your school").input_value() == ROOMY
        assert visitor.page.get_by_label("Your e-mail address").input_value() == ADA
        visitor.walk(again=False)
        visitor.page.get_by_label("Code from your school").fill("")
        visitor.page.get_by_role("button", name="Go to payment").click()
        visitor.page.get_by_role("link", name="Pay £29.00").wait_for()

    def test_a_code_that_is_typed_slowly_is_one_try(
        self, visitor: Visitor, shop_front: Service, connection: psycopg.Connection[Any]
    ) -> None:
        """Half a code is a wrong one. It is asked about once it is whole: on leaving the field, or when pasted."""
        visitor.go(f"/products/{HUB}")
        field = visitor.page.get_by_label("Code from your school")
        field.press_sequentially("harrow-hull", delay=60)
        visitor.page.keyboard.press("Tab")
        visitor.says("We do not recognise this code.")
        field.fill("")
        # As a browser tells a page of what was pasted.
        field.evaluate(
            "(field, text) => { field.value = text; "
            "field.dispatchEvent(new InputEvent('input', { inputType: 'insertFromPaste', bubbles: true })); }",
            ROOMY,
        )
        visitor.says("Harrow Hill College gives you this price.")
        assert connection.execute("SELECT wrong FROM counterfoil.guess ORDER BY tried_at").fetchall() == [
            (True,),
            (False,),
        ]

    def test_busy(self, visitor: Visitor, server: embedded.Server, shop_front: Service) -> None:
        """Somebody has the allocation for longer than anybody waits: busy, which is never called full."""
        holds(visitor, buyer="first@harrow.example")
        visitor.page.get_by_role("button", name="Give the place back").click()
        visitor.heading("Cancelled")
        with psycopg.connect(server.url) as slow:
            slow.execute("SELECT FROM counterfoil.allocation FOR UPDATE")
            visitor.order(HUB, ADA, ROOMY)
            visitor.page.locator(".told").wait_for()
            assert told(visitor) == "Many are buying right now. Try again in a moment: your place is not lost."
        visitor.walk("busy", again=False)
        assert visitor.page.get_by_label("Your e-mail address").input_value() == ADA
        visitor.page.get_by_role("button", name="Try again").click()
        visitor.heading("Your place is held")


class TestHowItStands:
    def test_paid(self, visitor: Visitor) -> None:
        """And what it opens is behind it; at full price it is the same page."""
        opened = []
        for code, pay in (("", "Pay £29.00"), (ROOMY, "Pay £14.50")):
            visitor.order(HUB, ADA, code)
            visitor.page.get_by_role("link", name=pay).click()
            visitor.pay()
            visitor.heading("Thank you, it is yours")
            visitor.walk("paid" if code else None)
            visitor.page.locator(".unlocks a").click()
            visitor.heading("Numerical reasoning")
            opened.append(visitor.page.locator("main").inner_html())
        assert opened[0] == opened[1]
        visitor.walk("practice-hub")
        visitor.go("/purchases")
        visitor.walk("purchases")
        visitor.go(f"/products/{HUB}")
        visitor.page.get_by_role("link", name="Open it").click()
        visitor.heading("Thank you, it is yours")

    def test_processing_and_then_not_paid(
        self, chrome: Browser, database: str, server: embedded.Server, simulator: Running, furnish: Any
    ) -> None:
        """A bank debit: on its way for days, and then the bank says no; the place is back, and said to be."""
        with serving(server.url, simulator, COUNTERFOIL_PAYMENT_METHODS="card, bacs_debit") as shop:
            simulator.add_endpoint(f"{shop.url}/webhooks/stripe")
            furnish()
            visitor = Visitor(chrome, shop.url)
            visitor.order(HUB, ADA, ROOMY)
            visitor.page.get_by_role("link", name="Pay £14.50").click()
            visitor.page.get_by_label("Email").fill(ADA)
            visitor.page.get_by_role("button", name="Pay by bank debit").click()
            visitor.heading("Your payment is on its way")
            visitor.says("Your place is kept meanwhile.")
            visitor.walk("on-its-way")
            session = session_of(shop)
            simulator.call(lambda: simulator.account.engine.end_delayed(session, "failed"))
            simulator.wait_delivered()
            visitor.go(visitor.page.url)
            visitor.heading("The payment did not go through")
            visitor.says("Nothing was charged, and the place was given back.")
            visitor.walk("did-not-go-through")
            visitor.page.get_by_role("link", name="Try again").click()
            visitor.heading("Numerical reasoning hub")
            visitor.close()

    def test_expired_though_the_payment_page_said_otherwise(
        self, visitor: Visitor, shop_front: Service, clock: Clock
    ) -> None:
        """Whoever comes back by the address of success finds what is true."""
        holds(visitor)
        session = session_of(shop_front)
        clock.advance(minutes=32)
        visitor.go(f"/purchases/{session}")
        visitor.heading("The payment page has expired")
        visitor.says("Nothing was charged, and the place was given back, whatever the payment page said.")
        visitor.walk("expired")

    def test_paid_at_the_last_moment_and_nobody_told_us(
        self, visitor: Visitor, shop_front: Service, simulator: Running, clock: Clock
    ) -> None:
        """The time is over and the event is stuck: Stripe is asked before anything is said of the money."""
        path = holds(visitor)
        session = session_of(shop_front)
        simulator.drop_events(99)
        simulator.pay(session)
        clock.advance(minutes=32)
        simulator.fail_next(Fault("refuse", "GET", f"/v1/checkout/sessions/{session}", times=2, status=500))
        visitor.go(path)
        visitor.heading("We are asking about your payment")
        visitor.says("If you paid, it counts: there is no need to pay twice.")
        assert "Nothing was charged" not in visitor.page.content()
        visitor.shoot("not-known")
        visitor.page.get_by_role("link", name="Look again").click()
        visitor.heading("Thank you, it is yours")
        simulator.drop_events(0)

    def test_stripe_cannot_be_asked_on_the_way_back(
        self, visitor: Visitor, shop_front: Service, simulator: Running
    ) -> None:
        """Nobody who comes back from paying is shown a button to pay again."""
        holds(visitor)
        session = session_of(shop_front)
        simulator.fail_next(Fault("refuse", "GET", f"/v1/checkout/sessions/{session}", times=99, status=500))
        visitor.go(f"/purchases/{session}")
        visitor.heading("We are asking about your payment")
        assert visitor.page.get_by_role("link", name=re.compile("^Pay")).count() == 0
        visitor.walk("not-known")
        simulator.call(simulator.account.faults.clear)

    def test_cancelled(self, visitor: Visitor) -> None:
        holds(visitor)
        visitor.page.get_by_role("button", name="Give the place back").click()
        visitor.heading("Cancelled")
        visitor.walk("cancelled")

    def test_it_cannot_be_cancelled_just_now(self, visitor: Visitor, shop_front: Service, simulator: Running) -> None:
        """It says that nothing has changed, and nothing has."""
        holds(visitor)
        session = session_of(shop_front)
        simulator.fail_next(Fault("refuse", "*", f"/v1/checkout/sessions/{session}", times=99, status=500))
        simulator.fail_next(Fault("refuse", "*", f"/v1/checkout/sessions/{session}/expire", times=99, status=500))
        visitor.page.get_by_role("button", name="Give the place back").click()
        visitor.says("It could not be cancelled just now, and nothing has changed.")
        visitor.heading("Your place is held")
        visitor.walk(again=False)
        simulator.call(simulator.account.faults.clear)

    def test_refunded(self, visitor: Visitor, shop_front: Service, simulator: Running) -> None:
        path = holds(visitor)
        visitor.page.get_by_role("link", name="Pay £14.50").click()
        visitor.pay()
        visitor.heading("Thank you, it is yours")
        paid = shop_front.get("/v1/checkouts")["data"][0]["payment_intent"]
        seller = stripe.StripeClient("sk_test_seller", base_addresses={"api": simulator.base_url})
        seller.v1.refunds.create({"payment_intent": paid})
        simulator.wait_delivered()
        visitor.go(path)
        visitor.heading("Refunded")
        visitor.walk()
        visitor.go("/learn/numerical-hub")
        visitor.heading("This is not open in this browser")
        visitor.walk("locked")

    def test_in_line(self, in_line: Visitor) -> None:
        """The second waits, is told how long, and is taken on by the page itself."""
        # Kept as it is while it is looked at: the line moves on after seconds.
        kept = in_line.context.request.get(in_line.page.url)
        assert "You are in line" in kept.text()
        in_line.page.route("**/checkouts/*", lambda route: route.fulfill(response=kept))
        in_line.walk("in-line", again=False)
        in_line.page.unroute("**/checkouts/*")
        in_line.heading("Your place is held")


class TestTheCountdown:
    def test_it_survives_sleep(self, visitor: Visitor, clock: Clock) -> None:
        """The lid is closed for half an hour: what is left is right at the next look, and the end is noticed."""
        visitor.page.clock.install()
        holds(visitor)
        visitor.page.get_by_text(re.compile(r"\(3[01] more minutes\)")).wait_for()
        visitor.page.clock.fast_forward(timedelta(minutes=20).seconds * 1000)
        visitor.page.get_by_text(re.compile(r"\((9|10|11) more minutes\)")).wait_for()
        clock.advance(minutes=32)
        visitor.page.clock.fast_forward(timedelta(minutes=12).seconds * 1000)
        visitor.heading("The payment page has expired")


@pytest.fixture
def furnish(simulator: Running, host: Any) -> Callable[[], None]:
    """Make the demo's shop, for a service that the test starts."""
    return lambda: furnished(host, simulator)


def test_what_is_on_sale_and_what_helps(visitor: Visitor) -> None:
    """The pages that need nothing to have happened, and those where nothing is."""
    for address, picture in (
        ("/", "catalogue"),
        (f"/products/{HUB}", "product"),
        ("/purchases", None),
        ("/products/nothing", None),
        ("/nowhere", None),
        ("/docs", "reference"),
        ("/problems/allocation-held", None),
    ):
        visitor.go(address)
        visitor.walk(picture)
