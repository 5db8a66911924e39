"""A purchase from the first request to what it unlocks, over HTTP."""

from tests.conftest import Clock
from tests.support.serving import Service

from counterfoil.simulator import Running


def test_a_code_lowers_the_price_and_its_place_is_spent_when_it_is_paid(service: Service, simulator: Running) -> None:
    """Held, then completed, then unlocked: and the page at Stripe asked for the lowered amount."""
    service.code(cap=1)
    opened = service.open("a@school.test")
    assert (opened["status"], opened["amount"], opened["discount_amount"]) == ("open", 1000, 1000)
    assert opened["url"].startswith(simulator.base_url)
    assert service.get("/v1/codes/NORTH-26/usage")["held"] == 1

    assert simulator.session(opened["session_id"])["amount_total"] == 1000
    simulator.pay(opened["session_id"])

    paid = service.get(f"/v1/checkouts/{opened['id']}")
    assert (paid["status"], paid["redemption"]["status"]) == ("paid", "completed")
    assert service.get("/v1/entitlements", buyer="A@school.test")["data"][0]["unlock"] == "hub"
    usage = service.get("/v1/codes/north26/usage")
    assert (usage["completed"], usage["held"], usage["remaining"], usage["over"]) == (1, 0, 0, 0)


def test_at_full_price_no_place_is_held_and_the_page_keeps_its_day(service: Service, simulator: Running) -> None:
    """No `expires_at` is sent: Stripe's 24 hours stay."""
    service.code()
    opened = service.open("a@school.test", None)
    assert opened["redemption"] is None
    session = simulator.session(opened["session_id"])
    assert session["expires_at"] - session["created"] == 24 * 60 * 60
    simulator.pay(opened["session_id"])
    assert service.get(f"/v1/checkouts/{opened['id']}")["status"] == "paid"
    assert [one["unlock"] for one in service.get("/v1/entitlements", buyer="a@school.test")["data"]] == ["hub"]


def test_an_abandoned_page_gives_its_place_back(service: Service, clock: Clock) -> None:
    """Its session expires at Stripe, the event says so, and the next buyer gets the place."""
    service.code(cap=1)
    opened = service.open("a@school.test")
    assert service.open("b@school.test", status=409)["code"] == "allocation-held"
    clock.advance(minutes=32)
    assert service.get(f"/v1/checkouts/{opened['id']}")["status"] == "expired"
    assert service.open("b@school.test")["status"] == "open"


def test_the_same_buyer_gets_the_same_page(service: Service) -> None:
    """A retry, a second tab, another spelling of code and address: one hold, one URL, and 200."""
    service.code(cap=1)
    first = service.open("a@school.test")
    again = service.open(" A@School.test ", "north–26", status=200)
    assert (again["id"], again["url"]) == (first["id"], first["url"])
