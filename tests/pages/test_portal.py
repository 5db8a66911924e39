"""The institution's pages in a real browser: by forms and with script, on a phone, in both lights."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from tests.pages.conftest import Visitor
from tests.support.serving import Service

PAGES = ["/portal", "/portal/codes/LAKESIDE-3", "/portal/codes/LAKESIDE-3/sheet", "/portal/alerts", "/portal/people"]


def link(shop: Service) -> str:
    made = shop.post("/v1/portal-links", {"institution": "lakeside", "email": "rua@lakeside.example"}, status=201)
    return str(made["url"])


@pytest.fixture(params=["plain", "phone, dark, without script"])
def staff(shop_front: Service, chrome: Browser, request: pytest.FixtureRequest) -> Iterator[Visitor]:
    """Somebody of Lakeside."""
    options = (
        {}
        if request.param == "plain"
        else {
            "viewport": {"width": 390, "height": 844},
            "color_scheme": "dark",
            "java_script_enabled": False,
        }
    )
    one = Visitor(chrome, shop_front.url, **options)
    one.go(link(shop_front))
    one.page.get_by_role("button", name="Open the page").click()
    one.heading("Lakeside School")
    yield one
    one.close()


@pytest.mark.parametrize("path", PAGES)
def test_it_is_drawn_without_trouble(staff: Visitor, path: str) -> None:
    """Nothing in the console, nothing refused, nothing wider than the screen."""
    staff.go(path)
    page = staff.page
    assert page.get_by_role("heading", level=1).count() == 1
    wide = page.locator("html").bounding_box()
    size = page.viewport_size
    assert wide is not None
    assert size is not None
    assert wide["width"] <= size["width"]
    for box in (one.bounding_box() for one in page.locator("main *:visible").all()):
        assert box is None or box["x"] + box["width"] <= size["width"] + 1


def test_the_numbers_and_asking_for_more(staff: Visitor) -> None:
    staff.says("2 of 3 places are used, 0 are being paid for, 1 is free.")
    staff.page.get_by_role("link", name="Years, table, and more places").click()
    staff.page.get_by_label("How many more").fill("many")
    staff.page.get_by_label("What for").fill("A new class")
    staff.page.get_by_role("button", name="Ask").click()
    staff.says("a whole number")
    assert staff.page.get_by_label("What for").input_value() == "A new class"
    staff.page.get_by_label("How many more").fill("5")
    staff.page.get_by_role("button", name="Ask").click()
    staff.says("the answer will be seen here")


def test_a_colleague_and_an_alert(staff: Visitor) -> None:
    staff.go("/portal/people")
    staff.page.get_by_label("Their e-mail address").fill("pip@lakeside.example")
    staff.page.get_by_role("button", name="Invite").click()
    staff.says("pip@lakeside.example")
    staff.go("/portal/alerts")
    staff.page.get_by_label("Tell us earlier as well").check()
    staff.page.get_by_label("At so many percent").fill("50")
    staff.page.get_by_role("button", name="Save").click()
    staff.says("Saved.")
    assert staff.page.get_by_label("Tell us earlier as well").is_checked()


def test_signing_in_says_the_same_to_everybody(visitor: Visitor) -> None:
    visitor.go("/portal")
    visitor.page.get_by_label("Your e-mail address").fill("nobody@lakeside.example")
    visitor.page.get_by_role("button", name="Send me a link").click()
    visitor.heading("Look into your mail")
    visitor.walk(again=False)


def test_the_square_leads_to_the_shop_with_the_code_filled_in(staff: Visitor) -> None:
    staff.go("/portal/codes/LAKESIDE-3")
    staff.page.get_by_role("link", name="the shop, with the code filled in").click()
    staff.page.get_by_role("link", name="Numerical reasoning hub").click()
    assert staff.page.get_by_label("Code from your school").input_value() == "LAKESIDE-3"
    staff.says("£9.00")


def test_copying_needs_script(staff: Visitor, request: pytest.FixtureRequest) -> None:
    staff.go("/portal/codes/LAKESIDE-3")
    scripted = "without" not in request.node.name
    assert staff.page.get_by_text("Copy", exact=True).is_visible() is scripted


def test_a_used_link_says_so(shop_front: Service, visitor: Visitor) -> None:
    url = link(shop_front)
    shop_front.client.post(url)
    visitor.go(url)
    visitor.says("This link was used already")


def test_each_page_as_everybody_sees_it(shop_front: Service, chrome: Browser, visitor: Visitor) -> None:
    """Wide and narrow, light and dark, as axe reads it, and without script: before the door and behind it."""
    visitor.go("/portal")
    visitor.walk("portal-entrance")
    visitor.go(link(shop_front))
    visitor.heading("Open your page")
    visitor.walk()
    visitor.page.get_by_role("button", name="Open the page").click()
    visitor.heading("Lakeside School")
    shop_front.open("ada@lakeside.example", "LAKESIDE-3", product="numerical-hub")
    for path, name in zip(PAGES, ("home", "code", "sheet", "alerts", "people"), strict=True):
        visitor.go(path)
        visitor.walk(f"portal-{name}")
    visitor.go("/portal/codes/NOBODYS")
    visitor.heading("There is nothing here")
    visitor.walk()
