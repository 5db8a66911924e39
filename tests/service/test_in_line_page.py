"""Who stands in line for a payment page sees that, and needs do nothing."""

import re

import httpx
from tests.support.races import until
from tests.support.serving import Service, serving

from counterfoil import embedded
from counterfoil.simulator import Running


def buy(service: Service, buyer: str) -> tuple[httpx.Client, str]:
    """A browser that pressed *buy*, and the page that it is on."""
    browser = httpx.Client(base_url=service.url, follow_redirects=True, timeout=30)
    page = browser.post("/products/hub", data={"buyer": buyer, "code": "NORTH-26"}, headers={"Origin": service.url})
    return browser, str(page.url) if page.status_code == 200 else page.text


def test_in_line_and_then_ready(database: str, server: embedded.Server, simulator: Running) -> None:
    """One page every four seconds: the second buyer has a place at once, is shown the line, and then their page."""
    with serving(database, simulator, COUNTERFOIL_STRIPE_RATE="0.25") as service:
        service.code(cap=9)
        first, _ = buy(service, "a@school.test")
        second, where = buy(service, "b@school.test")
        assert service.get("/v1/codes/NORTH-26/usage")["held"] == 2
        shown = second.get(where).text
        assert "You are in line" in shown
        assert re.search(r'<meta http-equiv="refresh"', shown), "it looks again by itself, without script"
        assert "counterfoil_stripe_line 1.0" in service.client.get("/metrics").text
        until(lambda: "You are in line" not in second.get(where).text)
        assert "Your place is held" in second.get(where).text
        for browser in (first, second):
            browser.close()


def test_a_full_line_says_when_to_come_again(database: str, server: embedded.Server, simulator: Running) -> None:
    """To a person in words, and to whatever asks for them in the header that is made for it."""
    with serving(database, simulator, COUNTERFOIL_STRIPE_RATE="0.1", COUNTERFOIL_LONGEST_WAIT="1") as service:
        service.code(cap=9)
        browser, _ = buy(service, "a@school.test")
        order = {"buyer": "b@school.test", "code": "NORTH-26"}
        refused = browser.post("/products/hub", data=order, headers={"Origin": service.url})
        assert (refused.status_code, "Try again" in refused.text) == (503, True)
        assert 1 <= int(refused.headers["Retry-After"]) <= 10
        browser.close()
