"""Why somebody would be refused, as the seller sees it: one press away from the code, and each answer as all see it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from tests.conftest import Clock
from tests.pages.conftest import Visitor
from tests.pages.test_admin_numbers import signed_in
from tests.support.serving import Service

from counterfoil.demo.sample import NEARLY_SPENT, ROOMY
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service.roles import Role


@pytest.fixture
def looker(clock: Clock, shop_front: Service, chrome: Browser, host: Psycopg) -> Iterator[Visitor]:
    """Somebody who may only look."""
    yield from signed_in(chrome, shop_front, host, Role.READ_ONLY)


def test_from_the_code_to_the_answer(looker: Visitor, shop_front: Service) -> None:
    looker.go(f"/admin/codes/{ROOMY}").get_by_role("link", name="Why would somebody be refused?").click()
    looker.heading("Why would somebody be refused?")
    looker.says("Let in")
    looker.walk()
    shop_front.client.patch(f"/v1/codes/{NEARLY_SPENT}", json={"paused": True}).raise_for_status()
    looker.page.get_by_label("Code, as they typed it").fill(NEARLY_SPENT.lower().replace("-", " "))
    looker.page.get_by_label("Their address, if known").fill("ada@lakeside.example")
    looker.page.get_by_role("button", name="Explain").click()
    looker.says("We do not recognise this code. Check it with whoever gave it to you.")
    looker.says(f"counterfoil code resume {NEARLY_SPENT}")
    assert looker.page.get_by_label("Their address, if known").input_value() == "ada@lakeside.example"
    looker.walk()


def test_a_code_that_is_none(looker: Visitor) -> None:
    looker.go("/admin/explain?code=HARROWW-HILL")
    looker.says("Did they mean")
    looker.walk()
    looker.page.get_by_role("link", name=ROOMY).click()
    looker.says("Let in")


def test_what_makes_no_sense_keeps_what_was_typed(looker: Visitor) -> None:
    looker.go(f"/admin/explain?code={ROOMY}&product=none")
    looker.says("There is no product 'none'.")
    assert looker.page.get_by_label("Code, as they typed it").input_value() == ROOMY
    looker.walk()
    looker.go("/admin/explain")
    looker.walk()
