"""`POST /v1/redemptions/{id}/return`: a completed place for which nothing was paid."""

from uuid import uuid4

import pytest
from tests.service.test_the_door import refused
from tests.support.serving import Service

from counterfoil.simulator import Running


@pytest.fixture
def gift(service: Service) -> Service:
    """A code that makes the product free, for one; and one of half its price."""
    service.code("GIFT", cap=1, discount={"percent": 100})
    service.code("HALF", cap=1)
    return service


def test_returned_once(gift: Service, simulator: Running) -> None:
    opened = gift.open("a@school.test", "GIFT")
    simulator.pay(opened["session_id"])
    gift.open("b@school.test", "GIFT", status=409)
    path = f"/v1/redemptions/{opened['redemption']['id']}/return"
    done = gift.post(path, status=200)
    assert (done["status"], done["already_settled"]) == ("refunded", False)
    again = gift.post(path, status=200)
    assert (again["status"], again["already_settled"]) == ("refunded", True)
    sale = gift.get(f"/v1/checkouts/{opened['id']}")
    assert (sale["status"], sale["redemption"]["status"]) == ("refunded", "refunded")
    assert gift.get("/v1/entitlements", buyer="a@school.test")["data"] == []
    revoked = gift.get("/v1/entitlements", buyer="a@school.test", all="true")["data"]
    assert [one["unlock"] for one in revoked if one["revoked_at"]] == ["hub"]
    assert gift.get("/v1/codes/GIFT/usage")["remaining"] == 1
    # The same buyer may use it again, and has what it unlocks again.
    second = gift.open("a@school.test", "GIFT")
    simulator.pay(second["session_id"])
    assert [one["checkout"] for one in gift.get("/v1/entitlements", buyer="a@school.test")["data"]] == [second["id"]]


def test_the_same_event_again_takes_no_place(gift: Service, simulator: Running) -> None:
    opened = gift.open("a@school.test", "GIFT")
    simulator.pay(opened["session_id"])
    gift.post(f"/v1/redemptions/{opened['redemption']['id']}/return", status=200)
    for event in simulator.events():
        simulator.resend(event["id"])
    completed = next(one for one in simulator.events() if one["type"] == "checkout.session.completed")
    simulator.call(lambda: simulator.account.deliveries.twin(completed["id"]))
    simulator.wait_delivered()
    assert gift.get(f"/v1/checkouts/{opened['id']}")["status"] == "refunded"
    assert gift.get("/v1/codes/GIFT/usage")["remaining"] == 1


def test_a_paid_one_stays(gift: Service, simulator: Running) -> None:
    opened = gift.open("a@school.test", "HALF")
    simulator.pay(opened["session_id"])
    said = gift.post(f"/v1/redemptions/{opened['redemption']['id']}/return", status=200)
    assert (said["status"], said["already_settled"]) == ("completed", True)
    assert gift.get(f"/v1/checkouts/{opened['id']}")["status"] == "paid"
    assert gift.get("/v1/codes/HALF/usage")["remaining"] == 0


def test_what_is_held_is_not_returned(gift: Service) -> None:
    opened = gift.open("a@school.test", "GIFT")
    said = gift.post(f"/v1/redemptions/{opened['redemption']['id']}/return", status=200)
    assert (said["status"], said["already_settled"]) == ("reserved", True)
    assert gift.get(f"/v1/checkouts/{opened['id']}")["status"] == "open"


def test_no_such_redemption(gift: Service) -> None:
    for id in ("x", str(uuid4())):
        refused(gift.client.post(f"/v1/redemptions/{id}/return"), 404, "not-found")
    paid = gift.open("a@school.test", None)
    refused(gift.client.post(f"/v1/redemptions/{paid['id']}/return"), 404, "not-found")


def test_a_replay_answers_it_as_it_is(gift: Service, simulator: Running) -> None:
    opened = gift.open("a@school.test", "GIFT")
    simulator.pay(opened["session_id"])
    path = f"/v1/redemptions/{opened['redemption']['id']}/return"
    first = gift.client.post(path, headers={"Idempotency-Key": "k"})
    again = gift.client.post(path, headers={"Idempotency-Key": "k"})
    assert (first.json()["already_settled"], again.json()["already_settled"]) == (False, True)
    assert again.headers["idempotent-replayed"] == "true"
