"""Buying in a real browser: with a code and without, and every way of not buying."""

import re
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from playwright.sync_api import Browser
from tests.conftest import Clock
from tests.pages.conftest import Visitor
from tests.support.serving import Service

from counterfoil.demo.sample import NEARLY_SPENT, ROOMY
from counterfoil.simulator import Fault, Running, objects

HUB = "numerical-hub"


def usage(shop: Service, code: str = ROOMY) -> dict[str, Any]:
    """How full the code is."""
    found: dict[str, Any] = shop.get(f"/v1/codes/{code}/usage")
    return found


class TestBuying:
    def test_at_full_price(self, visitor: Visitor, shop_front: Service) -> None:
        visitor.go("/")
        visitor.heading("Be ready for the assessment")
        visitor.shoot("catalogue")
        visitor.page.get_by_role("link", name=re.compile("Numerical reasoning hub")).click()
        visitor.heading("Numerical reasoning hub")
        visitor.page.get_by_label("Your e-mail address").fill("ada@home.example")
        visitor.page.get_by_role("button", name="Go to payment").click()
        visitor.heading("Ready to pay")
        visitor.page.get_by_role("link", name="Pay £29.00").click()
        visitor.says("Total due")
        visitor.shoot("till-full-price")
        visitor.pay()
        visitor.heading("Thank you, it is yours")
        visitor.shoot("paid-full-price")
        visitor.page.get_by_role("link", name=re.compile("Numerical")).click()
        visitor.page.wait_for_url("**/learn/numerical-hub")
        assert usage(shop_front)["completed"] == 0

    def test_with_a_code(self, visitor: Visitor, shop_front: Service) -> None:
        """The price goes down once it is typed, the place is held, paid, and spent; the content opens the same way."""
        visitor.go(f"/products/{HUB}")
        visitor.page.get_by_label("Your e-mail address").fill("ada@harrow.example")
        visitor.page.get_by_label("Code from your school").press_sequentially("harrow hill", delay=20)
        visitor.page.keyboard.press("Tab")
        visitor.says("Harrow Hill College gives you this price.")
        visitor.says("£14.50")
        visitor.picture("storefront")
        visitor.page.get_by_role("button", name="Go to payment").click()
        visitor.heading("Your place is held")
        visitor.says("Kept until")
        visitor.page.get_by_text(re.compile(r"\(3\d more minutes\)")).wait_for()
        visitor.shoot("held")
        assert usage(shop_front)["held"] == 1
        visitor.page.get_by_role("link", name="Pay £14.50").click()
        visitor.shoot("till-with-code")
        visitor.pay()
        visitor.heading("Thank you, it is yours")
        visitor.shoot("paid-with-code")
        assert (usage(shop_front)["held"], usage(shop_front)["completed"]) == (0, 1)
        visitor.page.get_by_role("link", name=re.compile("Numerical")).click()
        visitor.page.wait_for_url("**/learn/numerical-hub")
        visitor.shoot("content")
        visitor.page.get_by_role("link", name="My purchases").click()
        visitor.heading("My purchases")
        visitor.shoot("purchases")

    def test_a_product_that_opens_two(self, visitor: Visitor) -> None:
        visitor.order("assessment-day", "ada@harrow.example", ROOMY)
        visitor.page.get_by_role("link", name="Pay £24.50").click()
        visitor.pay()
        visitor.heading("Thank you, it is yours")
        assert visitor.page.locator(".unlocks a").count() == 2

    def test_for_nothing(self, visitor: Visitor, shop_front: Service) -> None:
        """A code for the whole price: an order like any other."""
        body = {"institution": "harrow-hill", "code": "ALL-OF-IT", "cap": 1, "discount": {"percent": 100}}
        shop_front.post("/v1/codes", body, status=201)
        visitor.order(HUB, "ada@harrow.example", "all of it")
        visitor.page.get_by_role("link", name="Pay £0.00").click()
        visitor.page.get_by_label("Email").fill("ada@harrow.example")
        visitor.page.get_by_role("button", name="Complete order").click()
        visitor.heading("Thank you, it is yours")
        assert usage(shop_front, "ALL-OF-IT")["completed"] == 1

    def test_without_script(self, chrome: Browser, shop_front: Service) -> None:
        """Every page works by its forms; what was typed stays, and no address is in a URL."""
        visitor = Visitor(chrome, shop_front.url, java_script_enabled=False)
        visitor.go(f"/products/{HUB}")
        visitor.page.get_by_label("Your e-mail address").fill("ada@harrow.example")
        visitor.page.get_by_label("Code from your school").fill(ROOMY)
        visitor.page.get_by_role("button", name="See the price").click()
        visitor.says("Harrow Hill College gives you this price.")
        assert visitor.page.get_by_label("Your e-mail address").input_value() == "ada@harrow.example"
        assert "harrow.example" not in visitor.page.url
        visitor.page.get_by_role("button", name="Go to payment").click()
        visitor.heading("Your place is held")
        visitor.page.get_by_role("link", name="Pay £14.50").click()
        visitor.pay()
        visitor.heading("Thank you, it is yours")
        visitor.close()

    def test_by_keyboard(self, visitor: Visitor) -> None:
        """From the first field to the content, without a mouse."""
        visitor.go(f"/products/{HUB}")
        visitor.page.get_by_label("Your e-mail address").focus()
        visitor.page.keyboard.type("ada@harrow.example")
        visitor.page.keyboard.press("Tab")
        visitor.page.keyboard.type(ROOMY)
        visitor.page.keyboard.press("Tab")
        visitor.says("gives you this price")
        visitor.page.keyboard.press("Tab")
        visitor.page.keyboard.press("Enter")
        visitor.heading("Your place is held")
        link = visitor.page.get_by_role("link", name="Pay £14.50")
        link.focus()
        visitor.page.keyboard.press("Enter")
        visitor.page.get_by_label("Email").focus()
        visitor.page.keyboard.type("ada@harrow.example")
        visitor.page.keyboard.press("Tab")
        visitor.page.keyboard.press("Tab")
        visitor.page.keyboard.press("Enter")
        visitor.heading("Thank you, it is yours")


class TestNotBuying:
    def test_declined_and_tried_again(self, visitor: Visitor, shop_front: Service) -> None:
        """The page stays open, in the same place."""
        visitor.order(HUB, "ada@harrow.example", ROOMY)
        visitor.page.get_by_role("link", name="Pay £14.50").click()
        visitor.pay("4000 0000 0000 0002")
        visitor.says("Your card was declined. Nothing was charged.")
        visitor.shoot("declined")
        assert usage(shop_front)["held"] == 1
        visitor.pay("4242 4242 4242 4242")
        visitor.heading("Thank you, it is yours")
        assert usage(shop_front)["completed"] == 1

    def test_back_and_on_again(self, visitor: Visitor, shop_front: Service) -> None:
        """Going back ends nothing: the same place, the same page."""
        visitor.order(HUB, "ada@harrow.example", ROOMY)
        pay = visitor.page.get_by_role("link", name="Pay £14.50")
        url = pay.get_attribute("href")
        pay.click()
        visitor.page.get_by_role("link", name="Back").click()
        visitor.heading("Your place is held")
        assert visitor.page.get_by_role("link", name="Pay £14.50").get_attribute("href") == url
        visitor.order(HUB, "ADA@harrow.example", "harrow–hill")
        visitor.heading("Your place is held")
        assert visitor.page.get_by_role("link", name="Pay £14.50").get_attribute("href") == url
        assert usage(shop_front)["held"] == 1

    def test_given_back(self, visitor: Visitor, shop_front: Service) -> None:
        visitor.order(HUB, "ada@harrow.example", ROOMY)
        visitor.page.get_by_role("button", name="Give the place back").click()
        visitor.heading("Cancelled")
        visitor.shoot("cancelled")
        assert usage(shop_front)["held"] == 0

    def test_walked_away(self, visitor: Visitor, another: Visitor, shop_front: Service, clock: Clock) -> None:
        """Nobody does anything, and the place is back; both pages say what is true."""
        visitor.order(HUB, "ada@lakeside.example", NEARLY_SPENT)
        checkout = visitor.page.url
        visitor.page.get_by_role("link", name="Pay £9.00").click()
        till = visitor.page.url
        another.order(HUB, "bo@lakeside.example", NEARLY_SPENT)
        another.says("All places are taken at the moment. One place may come back by ")
        another.shoot("taken-at-the-moment")
        clock.advance(minutes=32)
        visitor.go(checkout)
        visitor.heading("The payment page has expired")
        visitor.shoot("expired")
        visitor.go(till)
        visitor.says("expired")
        another.order(HUB, "bo@lakeside.example", NEARLY_SPENT)
        another.heading("Your place is held")

    def test_pressed_pay_too_late(self, visitor: Visitor, shop_front: Service, clock: Clock) -> None:
        visitor.order(HUB, "ada@harrow.example", ROOMY)
        visitor.page.get_by_role("link", name="Pay £14.50").click()
        clock.advance(minutes=32)
        visitor.pay()
        visitor.says("expired")
        assert usage(shop_front)["completed"] == 0

    def test_back_from_a_page_that_said_paid_and_was_not(self, visitor: Visitor, shop_front: Service) -> None:
        """The return page reads our row, and asks Stripe: not the address that the browser came with."""
        visitor.order(HUB, "ada@harrow.example", ROOMY)
        session = shop_front.get("/v1/checkouts")["data"][0]["session_id"]
        visitor.go(f"/purchases/{session}")
        visitor.heading("Your place is held")

    def test_spent(self, visitor: Visitor, another: Visitor) -> None:
        visitor.order(HUB, "ada@lakeside.example", NEARLY_SPENT)
        visitor.page.get_by_role("link", name="Pay £9.00").click()
        visitor.pay()
        visitor.heading("Thank you, it is yours")
        another.order(HUB, "bo@lakeside.example", NEARLY_SPENT)
        another.says("are taken.")
        another.says("Ask Lakeside School for more places.")
        another.shoot("spent")

    def test_used_already(self, visitor: Visitor) -> None:
        visitor.order(HUB, "ada@harrow.example", ROOMY)
        visitor.page.get_by_role("link", name="Pay £14.50").click()
        visitor.pay()
        visitor.order(HUB, "ada@harrow.example", ROOMY)
        visitor.says("You have used this code.")

    @pytest.mark.parametrize("code", ["NOBODYS-CODE", "🙂", "' OR 1=1 --", "<script>alert(1)</script>", "x" * 90])
    def test_codes_that_are_none(self, visitor: Visitor, code: str) -> None:
        visitor.order(HUB, "ada@harrow.example", code)
        visitor.page.get_by_role("alert").or_(visitor.page.get_by_role("status")).first.wait_for()
        assert visitor.page.get_by_label("Code from your school").input_value() == code
        assert visitor.page.get_by_label("Your e-mail address").input_value() == "ada@harrow.example"

    def test_paused_is_said_as_unknown(self, visitor: Visitor, shop_front: Service) -> None:
        shop_front.client.patch(f"/v1/codes/{ROOMY}", json={"paused": True}).raise_for_status()
        visitor.order(HUB, "ada@harrow.example", ROOMY)
        visitor.says("We do not recognise this code.")

    def test_stripe_is_down(self, visitor: Visitor, shop_front: Service, simulator: Running) -> None:
        """It says that nothing was charged, keeps what was typed, and trying again is one press."""
        simulator.fail_next(Fault("refuse", "POST", "/v1/checkout/sessions", times=2, status=500))
        visitor.order(HUB, "ada@harrow.example", ROOMY)
        visitor.says("The payment page could not be made. Nothing was charged")
        visitor.shoot("stripe-down")
        assert usage(shop_front)["held"] == 0
        visitor.page.get_by_role("button", name="Try again").click()
        visitor.heading("Your place is held")


class TestWhoseItIs:
    def test_another_browser_sees_nothing(self, visitor: Visitor, another: Visitor) -> None:
        """Not the checkout, not the payment page, not the purchase: whatever address it types."""
        visitor.order(HUB, "ada@harrow.example", ROOMY)
        path = urlsplit(visitor.page.url).path
        for at in (path, "/learn/numerical-hub"):
            answer = another.page.goto(at)
            assert answer
            assert answer.status in (403, 404)
        another.order(HUB, "ada@harrow.example", ROOMY)
        another.says("A place is being held for this address in another browser.")
        assert "/pay/" not in another.page.content()
        another.go("/purchases")
        another.says("Nothing was bought in this browser.")

    def test_a_form_of_another_site(self, visitor: Visitor, shop_front: Service) -> None:
        said = visitor.context.request.post(
            f"{shop_front.url}/products/{HUB}",
            form={"buyer": "ada@harrow.example", "code": ""},
            headers={"Origin": "https://elsewhere.test", "Sec-Fetch-Site": "cross-site"},
        )
        assert said.status == 403
        assert shop_front.get("/v1/checkouts", buyer="ada@harrow.example")["data"] == []

    def test_the_cookie_is_out_of_reach(self, visitor: Visitor) -> None:
        visitor.order(HUB, "ada@harrow.example")
        cookie = next(one for one in visitor.context.cookies() if one["name"] == "counterfoil_browser")
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Lax")
        assert visitor.page.evaluate("document.cookie") == ""


class TestHowItLooks:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("width", [390, 1280])
    def test_on_a_phone_and_in_the_dark(self, chrome: Browser, shop_front: Service, width: int, scheme: str) -> None:
        """Nothing is wider than the screen, and what is to be pressed is large enough for a thumb."""
        visitor = Visitor(chrome, shop_front.url, viewport={"width": width, "height": 844}, color_scheme=scheme)
        for path, name in (("/", "catalogue"), (f"/products/{HUB}", "product"), ("/purchases", "purchases")):
            visitor.go(path)
            assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width
            visitor.shoot(f"{name}-{width}-{scheme}")
        visitor.order(HUB, "ada@harrow.example", ROOMY)
        visitor.heading("Your place is held")
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width
        visitor.shoot(f"held-{width}-{scheme}")
        box = visitor.page.get_by_role("link", name="Pay £14.50").bounding_box()
        assert box
        assert box["height"] >= 44
        visitor.page.get_by_role("link", name="Pay £14.50").click()
        visitor.says("Total due")
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width
        visitor.shoot(f"till-{width}-{scheme}")
        visitor.close()

    def test_pages_that_are_not_there(self, visitor: Visitor) -> None:
        for path in (
            "/nothing",
            "/products/nothing",
            "/checkouts/x",
            "/checkouts/00000000-0000-4000-8000-000000000000",
        ):
            answer = visitor.page.goto(path)
            assert answer
            assert answer.status == 404
            visitor.page.get_by_role("heading", level=1).wait_for()

    def test_the_reference_and_the_problems(self, visitor: Visitor) -> None:
        visitor.go("/docs")
        visitor.page.get_by_role("heading", level=1).wait_for()
        visitor.shoot("docs")
        visitor.go("/problems/allocation-held")
        visitor.heading("All places are taken at the moment")

    def test_the_payment_page_asks_a_bank(self, visitor: Visitor, shop_front: Service) -> None:
        """Denied, another card, approved: in the same place."""
        visitor.order(HUB, "ada@harrow.example", ROOMY)
        visitor.page.get_by_role("link", name="Pay £14.50").click()
        visitor.pay("4000 0027 6000 3184")
        visitor.heading("Is it you?")
        visitor.shoot("challenge")
        visitor.page.get_by_role("button", name="It is not me").click()
        visitor.says("Your bank was told that it was not you. Nothing was charged.")
        visitor.pay("4000 0027 6000 3184")
        visitor.page.get_by_role("button", name="It is me: pay").click()
        visitor.heading("Thank you, it is yours")
        assert usage(shop_front)["completed"] == 1

    def test_two_tabs_of_one_payment_page(self, visitor: Visitor, shop_front: Service) -> None:
        """Paid in one; the other says so, and charges nothing."""
        visitor.order(HUB, "ada@harrow.example", ROOMY)
        visitor.page.get_by_role("link", name="Pay £14.50").click()
        second = visitor.context.new_page()
        second.goto(visitor.page.url)
        visitor.pay()
        visitor.heading("Thank you, it is yours")
        second.get_by_label("Email").fill("a@b.test")
        second.get_by_role("button", name=re.compile("^Pay ")).click()
        second.get_by_text("You are all done here").wait_for()
        assert usage(shop_front)["completed"] == 1

    def test_a_promotion_code_on_the_payment_page(self, visitor: Visitor, simulator: Running) -> None:
        engine = simulator.account.engine

        def arranged() -> str:
            engine.coupons["fifth"] = objects.coupon(
                id="fifth", created=0, percent_off=20.0, amount_off=None, currency=None, duration="once",
                max_redemptions=None, redeem_by=None, name=None, metadata={},
            )  # fmt: skip
            code = objects.promotion_code(
                code="FIFTH", coupon="fifth", created=0, max_redemptions=None, expires_at=None, customer=None,
                active=True, metadata={},
            )  # fmt: skip
            engine.promotion_codes[code["id"]] = code
            item = {"currency": "gbp", "unit_amount": "1000", "product_data": {"name": "Mug"}}
            made = engine.create_session(
                {
                    "mode": "payment",
                    "success_url": f"{visitor.base}/",
                    "allow_promotion_codes": "true",
                    "line_items": [{"quantity": "1", "price_data": item}],
                }
            )
            return str(made["url"])

        visitor.go(simulator.call(arranged))
        visitor.page.get_by_label("Promotion code").fill("nonsense")
        visitor.page.get_by_role("button", name="Apply").click()
        visitor.says("This code is not valid.")
        visitor.page.get_by_label("Promotion code").fill("fifth")
        visitor.page.get_by_role("button", name="Apply").click()
        visitor.says("Discount")
        visitor.shoot("till-with-promotion-code")
        visitor.page.get_by_label("Email").fill("a@b.test")
        visitor.page.get_by_role("button", name="Pay £8.00").click()
        visitor.heading("Be ready for the assessment")

    def test_the_simulators_dashboard(self, visitor: Visitor, simulator: Running) -> None:
        visitor.order(HUB, "ada@harrow.example", ROOMY)
        visitor.go(f"{simulator.base_url}/_simulator/")
        visitor.heading("Stripe simulator")
        visitor.page.get_by_role("button", name="Refund").first.click()
        visitor.says("refunded")
        visitor.page.get_by_label("The next call runs into").select_option("reset")
        visitor.page.get_by_role("button", name="Add").click()
        visitor.says("reset on * /v1/checkout/sessions, 1 more")
        visitor.page.get_by_role("button", name="Clear").click()
        visitor.page.get_by_role("button", name="+31 min").click()
        visitor.page.get_by_role("button", name="+1 min").click()
        visitor.says("expired")
        visitor.page.get_by_role("button", name="Send again").first.click()
        visitor.heading("Stripe simulator")
        visitor.shoot("simulator")


def test_the_countdown_follows_the_clock_that_decides(
    visitor: Visitor, clock: Clock, connection: psycopg.Connection[Any]
) -> None:
    """This computer's clock is an hour behind the database's: the minutes are right all the same."""
    clock.advance(hours=1)
    visitor.order(HUB, "ada@harrow.example", ROOMY)
    visitor.page.get_by_text(re.compile(r"\(3\d more minutes\)")).wait_for()
