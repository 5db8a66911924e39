"""
A real browser before a real shop.

Nothing may go wrong unseen: an error in the console, a refusal by the page's own policy, or a request that leaves this
machine fails the test.

`visitor.walk()` looks at the page that is open as all see it: on a desk and on a phone, by day and by night, with
axe, and once more without script. Pictures are taken by `make pictures` alone: the page of `visitor.walk("name")` for
docs/pictures, and everything else for build/screenshots.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from tests.support import axe
from tests.support.admin import PASSWORD, SIGN_IN, account
from tests.support.serving import Service, serving

from counterfoil import embedded
from counterfoil.clocks import Clocks
from counterfoil.demo import sample
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Shop
from counterfoil.service.roles import Role
from counterfoil.simulator import Running
from counterfoil.stripe.drivers import SyncStripe

SCREENSHOTS = Path(__file__).parent.parent.parent / "build" / "screenshots"
#: Where the pictures of the docs go, if any are taken.
PICTURES = os.environ.get("COUNTERFOIL_PICTURES")
DESK, PHONE = {"width": 1200, "height": 760}, {"width": 390, "height": 844}


def chromium() -> str | None:
    """The browser of this machine."""
    for name in (os.environ.get("COUNTERFOIL_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name) if name else None
        if found:
            return found
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of these need a browser, and come last."""
    missing = pytest.mark.skip(reason="no Chromium: apt-get install chromium, or set COUNTERFOIL_CHROMIUM")
    ours = [item for item in items if Path(item.path).is_relative_to(Path(__file__).parent)]
    for item in ours:
        item.add_marker(pytest.mark.browser)
        if chromium() is None:
            item.add_marker(missing)
    items.sort(key=lambda item: item in ours)


@pytest.fixture(scope="session")
def chrome() -> Iterator[Browser]:
    """A headless Chromium. While it lives, no other event loop can run in this thread: so these tests are the last."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(),
            args=["--no-sandbox", "--disable-dev-shm-usage"] if os.geteuid() == 0 else ["--disable-dev-shm-usage"],
        )
        yield browser
        browser.close()


class Visitor:
    """Somebody with a browser of their own."""

    def __init__(self, chrome: Browser, base: str, **options: Any) -> None:
        self.chrome, self.base = chrome, base
        self.options = {"locale": "en-GB", "timezone_id": "Europe/London", "viewport": DESK} | options
        self.context: BrowserContext = chrome.new_context(base_url=base, **self.options)
        self.context.set_default_timeout(10_000)
        self.page: Page = self.context.new_page()
        self.trouble: list[str] = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.trouble.append(f"script: {error}"))
        self.page.on("request", self._request)
        self._plain: Visitor | None = None

    def _console(self, message: Any) -> None:
        # Chromium reports every answer of 400 and more: here those are refusals that a test asks for.
        if message.type in ("error", "warning") and "the server responded with a status of" not in message.text:
            self.trouble.append(f"console: {message.text}")

    def _request(self, request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https") and parts.hostname not in ("127.0.0.1", "localhost"):
            self.trouble.append(f"a request left the machine: {request.url}")

    def go(self, path: str) -> Page:
        """Open a page."""
        self.page.goto(path)
        return self.page

    def says(self, text: str) -> None:
        """The page shows this."""
        self.page.get_by_text(re.compile(re.escape(text))).first.wait_for()

    def heading(self, text: str) -> None:
        """The page is this one."""
        self.page.get_by_role("heading", name=text, level=1).wait_for()

    def order(self, product: str, buyer: str, code: str = "") -> None:
        """Fill in the form of a product and go to payment."""
        self.go(f"/products/{product}")
        self.page.get_by_label("Your e-mail address").fill(buyer)
        if code:
            self.page.get_by_label("Code from your school").fill(code)
        self.page.get_by_role("button", name="Go to payment").click()

    def pay(self, card: str = "4242 4242 4242 4242") -> None:
        """On the payment page: a card, and pay."""
        if self.page.get_by_label("Email").input_value() == "":
            self.page.get_by_label("Email").fill("buyer@example.test")
        self.page.get_by_label("Card number").fill(card)
        self.page.get_by_role("button", name=re.compile("^Pay ")).click()

    def shoot(self, name: str) -> None:
        """Keep a picture to look at: the whole page."""
        if PICTURES:
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)

    def picture(self, name: str) -> None:
        """Keep a picture for the docs: what is above the fold on a desk, and all of it if that is little more."""
        if PICTURES:
            tall = min(1100, max(480, self.page.evaluate("document.body.scrollHeight")))
            self.page.set_viewport_size({"width": DESK["width"], "height": tall})
            self.page.screenshot(path=Path(PICTURES) / f"{name}.png")
            self.page.set_viewport_size(DESK)  # type: ignore[arg-type]

    def walk(self, picture: str | None = None, *, again: bool = True) -> None:
        """
        Look at the page that is open as everybody sees it. It fails for what axe finds and for what is wider than the
        screen; the console and the network are watched all the time. tests/pages/test_the_walk.py shows what it finds.

        Args:
            picture: Keep its picture under this name.
            again: Its address shows it again, so it is opened once more without script. Not so for the answer to a
                form, and for a page that needs script.
        """
        for size in (DESK, PHONE):
            self.page.set_viewport_size(size)  # type: ignore[arg-type]
            # By night it is the same page in other colours.
            for scheme, rules in (("light", ()), ("dark", axe.OF_COLOURS)):
                self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
                where = f"{self.page.url} at {size['width']}, {scheme}"
                found = axe.found(self.page, rules)
                assert not found, f"{where}\n{found}"
                wide = self.page.evaluate("document.documentElement.scrollWidth")
                assert wide <= size["width"], f"{where}: {wide} wide"
                if picture and (size, scheme) == (DESK, "light"):
                    self.picture(picture)
                elif picture:
                    self.shoot(f"{picture}-{size['width']}-{scheme}")
        self.page.emulate_media(color_scheme="light", reduced_motion="null")
        self.page.set_viewport_size(DESK)  # type: ignore[arg-type]
        if again:
            self._walk_without_script()

    def _walk_without_script(self) -> None:
        plain = self._plain = self._plain or Visitor(self.chrome, self.base, **self.options, java_script_enabled=False)
        plain.context.clear_cookies()
        plain.context.add_cookies(self.context.cookies())  # type: ignore[arg-type]
        # Without its fragment: to the one that it shows already, a browser goes without asking anew.
        plain.go(self.page.url.partition("#")[0])
        heading = self.page.get_by_role("heading", level=1).first.inner_text()
        assert plain.page.get_by_role("heading", level=1).first.inner_text() == heading, (
            f"{self.page.url} without script"
        )

    def close(self) -> None:
        """Leave; nothing may have gone wrong unseen."""
        if self._plain:
            self._plain.close()
        self.context.close()
        assert self.trouble == []


def furnished(host: Psycopg, simulator: Running) -> None:
    """Make the demo's shop: three products, two schools, one code with room and one with a single place left."""
    shop = Shop(clocks=Clocks(), livemode=False)
    stripe = SyncStripe("sk_test_pages", shop.clocks, simulator.base_url)
    sample.make(host, stripe, simulator, shop)
    stripe.close()


@pytest.fixture
def shop_front(service: Service, simulator: Running, host: Psycopg) -> Service:
    """The demo's shop, open."""
    furnished(host, simulator)
    return service


@pytest.fixture
def visitor(shop_front: Service, chrome: Browser) -> Iterator[Visitor]:
    """One visitor."""
    one = Visitor(chrome, shop_front.url)
    yield one
    one.close()


@pytest.fixture
def another(shop_front: Service, chrome: Browser) -> Iterator[Visitor]:
    """Another, in another browser."""
    one = Visitor(chrome, shop_front.url)
    yield one
    one.close()


def signed_in(chrome: Browser, shop: Service, host: Psycopg, role: Role, **options: Any) -> Iterator[Visitor]:
    """Somebody of the seller's, before the first of their pages. Its form is walked in test_admin_accounts.py."""
    one = Visitor(chrome, shop.url, **options)
    form = {"email": account(host, role).email, "password": PASSWORD}
    assert one.context.request.post(SIGN_IN, form=form, headers={"Origin": shop.url}).ok
    one.go("/admin")
    one.heading("Institutions")
    yield one
    one.close()


@pytest.fixture
def scripted(shop_front: Service, chrome: Browser, host: Psycopg) -> Iterator[Visitor]:
    """Somebody of the staff, with script."""
    yield from signed_in(chrome, shop_front, host, Role.STAFF)


@pytest.fixture
def in_line(
    chrome: Browser, database: str, server: embedded.Server, simulator: Running, host: Psycopg
) -> Iterator[Visitor]:
    """The second to buy where Stripe makes one page every four seconds."""
    with serving(server.url, simulator, COUNTERFOIL_STRIPE_RATE="0.25") as shop:
        furnished(host, simulator)
        first, second = Visitor(chrome, shop.url), Visitor(chrome, shop.url)
        first.order("numerical-hub", "first@harrow.example", sample.ROOMY)
        first.heading("Your place is held")
        second.order("numerical-hub", "ada@harrow.example", sample.ROOMY)
        second.heading("You are in line")
        yield second
        first.close()
        second.close()
