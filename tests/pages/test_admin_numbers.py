"""The seller's working pages in a real browser: each as everybody sees it, filled and empty, and what is done there."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.conftest import Clock
from tests.pages.conftest import Visitor, signed_in
from tests.support.serving import Service

from counterfoil import verbs
from counterfoil.demo.sample import NEARLY_SPENT, ROOMY
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service.roles import Role
from counterfoil.simulator import Running

#: What the docs show.
PICTURES = {
    "/admin": "admin-home",
    f"/admin/codes/{ROOMY}": "admin-code",
    f"/admin/codes/{ROOMY}/cap": "admin-cap",
    "/admin/redemptions": "admin-redemptions",
    "/admin/institutions/harrow-hill": "admin-institution",
    "/admin/products": "admin-products",
}


@pytest.fixture(params=["with script", "without"])
def staff(request: pytest.FixtureRequest, shop_front: Service, chrome: Browser, host: Psycopg) -> Iterator[Visitor]:
    """Somebody of the staff, with script on or off."""
    on = request.param == "with script"
    yield from signed_in(chrome, shop_front, host, Role.STAFF, java_script_enabled=on)


@pytest.fixture
def newcomer(service: Service, chrome: Browser, host: Psycopg) -> Iterator[Visitor]:
    """Somebody of the staff before an empty database."""
    yield from signed_in(chrome, service, host, Role.STAFF)


def opened(shop: Service, buyer: str, code: str = ROOMY, product: str = "numerical-hub") -> Any:
    """A checkout with a place held."""
    return shop.open(buyer, code, product=product)


def fill_up(shop: Service, simulator: Running) -> Any:
    """A life: some paid, one held, one released, a cap changed with a note. One that is held."""
    for name in ("ada", "bela", "chidi", "dora", "emre"):
        simulator.pay(opened(shop, f"{name}@harrow-hill.example")["session_id"])
    gone = opened(shop, "farah@harrow-hill.example")
    shop.post(f"/v1/redemptions/{gone['redemption']['id']}/release", status=200)
    held = opened(shop, "gwen.with.a.rather.long.address@careers.harrow-hill.example")
    opened(shop, "hana@harrow-hill.example", product="situational-hub")
    period = shop.get(f"/v1/codes/{ROOMY}")["period"]
    shop.client.put(f"/v1/codes/{ROOMY}/allocations/{period}", json={"cap": 12, "note": "Asked for by Ada Brook."})
    return held


def test_each_page_as_everybody_sees_it(
    scripted: Visitor, shop_front: Service, simulator: Running, host: Psycopg
) -> None:
    """Wide and narrow, light and dark, as axe reads it, and without script; with something on each."""
    held = fill_up(shop_front, simulator)
    id = held["redemption"]["id"]
    shop_front.post(
        "/v1/codes",
        {
            "institution": "harrow-hill",
            "code": "OPEN-DAY",
            "cap": None,
            "discount": {"amount_off": 500, "currency": "gbp"},
        },
        status=201,
    )
    host.run(verbs.raise_attention(kind="drift", subject="cs_1", detail={}))
    for address in (
        "/admin",
        "/admin?q=har&sort=fullest",
        "/admin/new-institution",
        "/admin/institutions/harrow-hill",
        "/admin/institutions/harrow-hill/edit",
        "/admin/institutions/harrow-hill/new-code",
        "/admin/codes",
        f"/admin/codes/{ROOMY}",
        f"/admin/codes/{ROOMY}/edit",
        f"/admin/codes/{ROOMY}/cap",
        f"/admin/codes/{ROOMY}/move",
        f"/admin/codes/{ROOMY}/periods",
        "/admin/institutions/harrow-hill/calendar",
        f"/admin/codes/{NEARLY_SPENT}",
        "/admin/codes/OPEN-DAY",
        "/admin/redemptions",
        "/admin/redemptions?q=gwen",
        f"/admin/redemptions/{id}",
        f"/admin/redemptions/{id}/release",
        f"/admin/redemptions/{id}/return",
        "/admin/buyers",
        f"/admin/buyers?buyer={host.run(verbs.redemptions(most=1))[0].buyer}",
        "/admin/products",
        "/admin/products/numerical-hub",
        "/admin/new-product",
    ):
        scripted.go(address)
        scripted.walk(PICTURES.get(address, "admin-redemption" if address.endswith(id) else None))


def test_each_page_where_nothing_is_yet(newcomer: Visitor, service: Service) -> None:
    for address, said in (
        ("/admin", "No institution yet"),
        ("/admin?q=x", "No institution fits"),
        ("/admin/codes", "No code yet"),
        ("/admin/codes?q=x", "No code fits"),
        ("/admin/redemptions", "No redemption yet"),
        ("/admin/redemptions?q=x", "No redemption fits"),
        ("/admin/products", "No product yet"),
        ("/admin/buyers?buyer=nobody", "Nothing is held about them"),
    ):
        newcomer.go(address)
        newcomer.says(said)
        newcomer.walk()
    service.code()
    for address, said in (
        ("/admin/institutions/northfold", "NORTH-26"),
        ("/admin/codes/NORTH-26", "Nobody is on the payment page"),
    ):
        newcomer.go(address)
        newcomer.says(said)
        newcomer.walk()


def test_a_form_that_was_refused(scripted: Visitor) -> None:
    """What is wrong stands beside its field and is tied to it; what was typed is there."""
    page = scripted.go("/admin/institutions/harrow-hill/new-code")
    page.get_by_label("Code", exact=True).fill("WINTER-9")
    page.get_by_label("Places in each new period").fill("lots")
    page.get_by_label("How much").fill("900")
    page.get_by_label("First day").fill("2027-05-02")
    page.get_by_label("Last day").fill("2027-05-01")
    page.get_by_role("button", name="Add it").click()
    scripted.says("It was not saved yet")
    cap = page.get_by_label("Places in each new period")
    assert (cap.input_value(), cap.get_attribute("aria-invalid")) == ("lots", "true")
    assert "Write a whole number" in page.locator(f"#{cap.get_attribute('aria-describedby')}").inner_text()
    assert page.get_by_label("Code", exact=True).input_value() == "WINTER-9"
    assert page.get_by_label("How much").input_value() == "900"
    scripted.walk(again=False)


def test_a_programme_from_nothing(staff: Visitor, shop_front: Service) -> None:
    """An institution, its code, a cap for next year, a pause: by forms alone."""
    page = staff.go("/admin")
    page.get_by_role("link", name="Add an institution").click()
    page.get_by_label("Name").fill("Moorland Academy")
    page.get_by_label("Time zone").fill("Europe/Dublin")
    page.get_by_role("button", name="Add it").click()
    staff.heading("Moorland Academy")
    page.get_by_role("link", name="Add a code").first.click()
    page.get_by_label("Code", exact=True).fill("MOOR-1")
    page.get_by_label("Places in each new period").fill("1,200")
    page.get_by_label("How much").fill("25")
    page.get_by_role("button", name="Add it").click()
    staff.says("The code was added and works from now on.")
    page.get_by_role("navigation", name="Periods").get_by_role("link", name="next").click()
    staff.says("nothing was set for it")
    page.get_by_role("link", name="Prepare ").click()
    page.get_by_label("Places").fill("80")
    page.get_by_label("Note").fill("The new intake is small.")
    page.get_by_role("button", name="Set the cap").click()
    staff.says("The cap was set.")
    staff.says("The new intake is small.")
    page.get_by_role("button", name="Pause").click()
    staff.says("Nobody new is let in")
    shown = shop_front.get("/v1/codes/MOOR-1")
    assert (shown["paused"], shown["cap"], shown["discount"]) == (True, 1200, {"percent": 25})


def test_a_cap_below_what_is_used(staff: Visitor, shop_front: Service, simulator: Running) -> None:
    """Refused first; then, with the tick, set."""
    fill_up(shop_front, simulator)
    page = staff.go(f"/admin/codes/{ROOMY}")
    page.get_by_role("link", name="Change the cap").click()
    page.get_by_label("Places").fill("6")
    page.get_by_label("Note").fill("Too many")
    page.get_by_role("button", name="Set the cap").click()
    staff.says("7 places are in use, which is more.")
    assert page.get_by_label("Note").input_value() == "Too many"
    page.get_by_label("I know that 7 are in use").check()
    page.get_by_role("button", name="Set the cap").click()
    staff.says("The cap was set.")
    assert shop_front.get(f"/v1/codes/{ROOMY}/usage")["cap"] == 6


def test_a_hold_is_released(staff: Visitor, shop_front: Service, simulator: Running) -> None:
    """From the code's page, by a page that says what happens, back to the code's page."""
    held = opened(shop_front, "gwen@harrow-hill.example")
    page = staff.go(f"/admin/codes/{ROOMY}")
    row = (
        page.get_by_role("list", name="Live holds").get_by_role("listitem").filter(has_text="gwen@harrow-hill.example")
    )
    row.get_by_role("link", name="Release").click()
    staff.heading("Release this place?")
    page.get_by_role("button", name="Release the place").click()
    staff.heading(ROOMY)
    staff.says("The place is free again, and its payment page was closed.")
    assert simulator.session(held["session_id"])["status"] == "expired"
    assert shop_front.get(f"/v1/codes/{ROOMY}/usage")["held"] == 0


def test_a_place_is_found_and_returned(staff: Visitor, shop_front: Service, simulator: Running) -> None:
    body = {"institution": "harrow-hill", "code": "GIFT", "cap": 1, "discount": {"percent": 100}}
    shop_front.post("/v1/codes", body, status=201)
    sale = opened(shop_front, "gwen@harrow-hill.example", "GIFT")
    simulator.pay(sale["session_id"])
    page = staff.go("/admin/redemptions")
    page.get_by_label("Search").fill(sale["session_id"])
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="gwen@harrow-hill.example").click()
    staff.heading("gwen@harrow-hill.example")
    page.get_by_role("link", name="Return the place").click()
    page.get_by_role("button", name="Return the place").click()
    staff.says("The place is free again, and what the purchase unlocked was taken back.")
    assert shop_front.get("/v1/codes/GIFT/usage")["remaining"] == 1


def test_a_product_is_changed(staff: Visitor, shop_front: Service) -> None:
    page = staff.go("/admin/products")
    page.get_by_role("link", name="Numerical reasoning hub").click()
    page.get_by_label("Price").fill("31.50")
    page.get_by_role("button", name="Save").click()
    staff.says("The product was changed.")
    staff.says("£31.50")


def test_the_code_s_page_changes_by_itself(
    scripted: Visitor, shop_front: Service, simulator: Running, clock: Clock
) -> None:
    """A place that is held and paid elsewhere is seen without a hand moved."""
    page: Page = scripted.go(f"/admin/codes/{ROOMY}")
    scripted.says("Nobody is on the payment page")
    sale = opened(shop_front, "gwen@harrow-hill.example")
    page.locator("#code-holds").get_by_text("gwen@harrow-hill.example").first.wait_for()
    simulator.pay(sale["session_id"])
    page.locator("#code-paid").get_by_text("gwen@harrow-hill.example").first.wait_for()
    assert re.search(r"1\s*paid for", page.locator("#code-numbers").inner_text())


def test_without_a_mouse(scripted: Visitor) -> None:
    """From the top of the first page to a code found, by keys."""
    page = scripted.go("/admin")
    page.get_by_label("Find an institution").focus()
    page.keyboard.type("lakeside 3")
    page.keyboard.press("Enter")
    scripted.says("1 institution for")
    page.get_by_role("link", name="Lakeside School").focus()
    page.keyboard.press("Enter")
    scripted.heading("Lakeside School")
    page.get_by_role("link", name=NEARLY_SPENT).focus()
    page.keyboard.press("Enter")
    scripted.heading(NEARLY_SPENT)
