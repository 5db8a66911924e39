"""What is on its way is seen to be, and is sent once; what changes by itself says when it cannot."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route
from tests.pages.conftest import Visitor
from tests.support.serving import Service

import counterfoil
from counterfoil.demo.sample import ROOMY

HUB = "numerical-hub"
#: Seconds, after which a form may be sent again: longer than any answer takes.
LONGEST = 30


class Sent:
    """What is sent to an address, kept from the service: the answer is that there is none, so the page stays."""

    def __init__(self, page: Page, address: str) -> None:
        self.count = 0
        page.route(address, self._kept)

    def _kept(self, route: Route) -> None:
        if route.request.method != "POST":
            route.continue_()
            return
        self.count += 1
        route.fulfill(status=204)


@pytest.fixture
def buying(visitor: Visitor) -> Visitor:
    """Somebody who has filled in the form of a product."""
    page = visitor.go(f"/products/{HUB}")
    page.get_by_label("Your e-mail address").fill("ada@harrow.example")
    page.get_by_label("Code from your school").fill(ROOMY)
    page.get_by_label("Code from your school").blur()
    visitor.says("Harrow Hill College gives you this price.")
    return visitor


def pressed(button: Locator, times: int = 1) -> None:
    """Press as a hand does, and do not wait for what comes."""
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert box
    button.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, click_count=times)


def busy(button: Locator) -> bool:
    return button.get_attribute("aria-busy") == "true"


def on_its_way(visitor: Visitor) -> None:
    """It is told to whoever hears the page."""
    visitor.page.get_by_role("status").get_by_text("On its way.").wait_for()


def line(button: Locator) -> Any:
    """What moves the line on the button, and how wide it is."""
    look = "getComputedStyle(button, '::after')"
    return button.evaluate(f"button => [{look}.animationName, {look}.borderBottomWidth]")


class TestAForm:
    def test_is_sent_once(self, buying: Visitor) -> None:
        """However often it is pressed, and whichever of its buttons."""
        sent = Sent(buying.page, f"**/products/{HUB}")
        pressed(buying.page.get_by_role("button", name="Go to payment"), 2)
        pressed(buying.page.get_by_role("button", name="See the price"))
        buying.page.get_by_label("Your e-mail address").press("Enter")
        on_its_way(buying)
        assert sent.count == 1

    def test_pressed_twice_it_arrives_once(self, buying: Visitor, shop_front: Service) -> None:
        arrived: list[str] = []
        buying.page.on("request", lambda request: arrived.append(request.url) if request.method == "POST" else None)
        pressed(buying.page.get_by_role("button", name="Go to payment"), 2)
        buying.heading("Your place is held")
        assert (len(arrived), len(shop_front.get("/v1/checkouts", buyer="ada@harrow.example")["data"])) == (1, 1)

    def test_is_seen_to_be_on_its_way(self, buying: Visitor) -> None:
        """By whoever wants nothing to move as well; the rest of the page stays as it is."""
        Sent(buying.page, f"**/products/{HUB}")
        go = buying.page.get_by_role("button", name="Go to payment")
        before = go.bounding_box()
        pressed(go)
        on_its_way(buying)
        assert (busy(go), line(go)) == (True, ["on-its-way", "3px"])
        assert not busy(buying.page.get_by_role("button", name="See the price"))
        assert go.bounding_box() == before
        buying.page.emulate_media(reduced_motion="reduce")
        assert line(go) == ["none", "3px"]
        buying.walk(again=False)

    def test_is_as_it_was_for_who_goes_back(self, buying: Visitor) -> None:
        """Also where the browser shows the very page that was left."""
        sent = Sent(buying.page, f"**/products/{HUB}")
        go = buying.page.get_by_role("button", name="Go to payment")
        pressed(go)
        on_its_way(buying)
        # Playwright's browser never keeps a page; what it would tell one is told here.
        buying.page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
        assert not busy(go)
        assert buying.page.get_by_text("On its way.").count() == 0
        pressed(go)
        on_its_way(buying)
        assert sent.count == 2

    def test_may_be_sent_again_after_long(self, visitor: Visitor) -> None:
        """Whoever stopped the browser is not shut out."""
        visitor.page.clock.install()
        page = visitor.go(f"/products/{HUB}")
        page.get_by_label("Your e-mail address").fill("ada@harrow.example")
        sent = Sent(page, f"**/products/{HUB}")
        go = page.get_by_role("button", name="Go to payment")
        pressed(go)
        page.locator("button[aria-busy]").wait_for()
        page.clock.fast_forward(1000 * (LONGEST - 1))
        assert busy(go)
        page.clock.fast_forward(2000)
        assert not busy(go)
        pressed(go)
        page.clock.fast_forward(2000)
        on_its_way(visitor)
        assert sent.count == 2

    def test_on_the_seller_s_pages(self, scripted: Visitor) -> None:
        scripted.go(f"/admin/codes/{ROOMY}/cap")
        scripted.page.get_by_label("Places").fill("70")
        scripted.page.get_by_label("Note").fill("More")
        sent = Sent(scripted.page, "**/cap")
        go = scripted.page.get_by_role("button", name="Set the cap")
        pressed(go, 2)
        on_its_way(scripted)
        assert (sent.count, busy(go)) == (1, True)

    def test_on_the_payment_page(self, visitor: Visitor) -> None:
        """It has the same script, and its own look."""
        visitor.order(HUB, "ada@harrow.example", ROOMY)
        visitor.page.get_by_role("link", name=re.compile("^Pay ")).click()
        sent = Sent(visitor.page, "**/pay/*")
        visitor.page.get_by_label("Email").fill("ada@harrow.example")
        pay = visitor.page.get_by_role("button", name=re.compile("^Pay "))
        pressed(pay, 2)
        on_its_way(visitor)
        assert (sent.count, busy(pay), line(pay)) == (1, True, ["on-its-way", "3px"])
        visitor.page.emulate_media(reduced_motion="reduce")
        assert line(pay) == ["none", "3px"]
        visitor.walk(again=False)


def test_the_simulator_has_the_same_script() -> None:
    """It stands alone, so it has a copy."""
    root = Path(counterfoil.__file__).parent
    assert (root / "simulator/static/sent.js").read_text() == (root / "service/static/sent.js").read_text()


NOT_LIVE = "Not live just now: what you see may be old."


class TestALivePage:
    @pytest.mark.parametrize("how", ["refused", "cut off"])
    def test_says_that_it_is_not_live_and_comes_back(self, scripted: Visitor, shop_front: Service, how: str) -> None:
        """Not at a hiccup; and what happened meanwhile is seen once it is back."""
        page = scripted.page
        page.clock.install()
        page.route("**/admin/live", lambda route: route.fulfill(status=503) if how == "refused" else route.abort())
        with page.expect_request("**/admin/live"):
            page.goto(f"/admin/codes/{ROOMY}")
        page.clock.fast_forward(4000)
        assert page.get_by_text(NOT_LIVE).count() == 0
        page.clock.fast_forward(2000)
        page.get_by_role("status").get_by_text(NOT_LIVE).wait_for()
        scripted.walk(again=False)
        page.unroute("**/admin/live")
        with page.expect_response("**/admin/live"):
            page.clock.fast_forward(6000)
        page.get_by_text(NOT_LIVE).wait_for(state="detached")
        shop_front.open("gwen@harrow-hill.example", ROOMY, product=HUB)
        page.clock.run_for(1000)
        page.locator("#code-holds").get_by_text("gwen@harrow-hill.example").first.wait_for()
        # What a test cut off is reported there, and nothing else.
        assert all("net::ERR_FAILED" in one for one in scripted.trouble)
        scripted.trouble.clear()

    def test_leaves_alone_what_was_just_sent(self, scripted: Visitor, shop_front: Service) -> None:
        """Drawn anew, its form could be sent a second time."""
        page = scripted.go(f"/admin/codes/{ROOMY}")
        sent = Sent(page, "**/pause")
        page.evaluate("document.querySelector('#code-holds').append(document.querySelector('form[action$=pause]'))")
        button = page.locator("#code-holds").get_by_role("button", name="Pause")
        pressed(button)
        shop_front.open("gwen@harrow-hill.example", ROOMY, product=HUB)
        # All that is drawn anew is drawn at once, and the numbers come first.
        page.locator("#code-numbers").get_by_text(re.compile(r"^\s*1\s*$")).first.wait_for()
        assert busy(button)
        pressed(button)
        on_its_way(scripted)
        assert sent.count == 1

    def test_in_line_too(self, in_line: Visitor) -> None:
        page = in_line.page
        page.route("**/checkouts/*", lambda route: route.fulfill(status=503))
        page.get_by_role("status").get_by_text(NOT_LIVE).wait_for()
        in_line.walk(again=False)
        page.unroute("**/checkouts/*")
        in_line.heading("Your place is held")
