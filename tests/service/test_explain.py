"""Every number behind a yes or a no: by API and by page, and the sentence that the buyer sees."""

import re
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest
from tests.conftest import Clock
from tests.service.test_guessing import Browser, told
from tests.service.test_the_door import refused
from tests.support.admin import SignIn
from tests.support.serving import Service

from counterfoil.codes import fold
from counterfoil.explanation import nearly
from counterfoil.service.roles import Role


def explained(service: Service, code: str = "NORTH-26", **query: str) -> Any:
    return service.get(f"/v1/codes/{code}/explain", **query)


def set_cap(service: Service, cap: int, **more: Any) -> str:
    period: str = explained(service)["period"]
    service.client.put(f"/v1/codes/NORTH-26/allocations/{period}", json={"cap": cap, **more}).raise_for_status()
    return period


def change(service: Service, **terms: Any) -> None:
    service.client.patch("/v1/codes/NORTH-26", json=terms).raise_for_status()


CASES: dict[str, tuple[Callable[[Service], Any], str, str | None]] = {
    "let in": (lambda service: None, "free", None),
    "paused": (lambda service: change(service, paused=True), "paused", "code-paused"),
    "not open": (lambda service: change(service, starts_on="2099-01-31"), "not_open", "code-not-open"),
    "ended": (lambda service: change(service, ends_on="2024-06-30"), "ended", "code-ended"),
    "own hold": (lambda service: service.open("ada@school.test"), "yours", None),
    "all held": (
        lambda service: [service.open(f"{one}@school.test") for one in "xy"],
        "held_by_others",
        "allocation-held",
    ),
    "no places": (lambda service: set_cap(service, 0), "spent", "allocation-spent"),
    "another currency": (
        lambda service: change(service, discount={"amount_off": 5, "currency": "eur"}),
        "free",
        "currency-mismatch",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_says_what_the_page_and_the_api_then_say(service: Service, clock: Clock, case: str) -> None:
    """The sentence is the one on the shop's page, word for word; the refusal is the API's."""
    arrange, outcome, refusal = CASES[case]
    service.code(cap=2)
    arrange(service)
    found = explained(service, buyer="Ada@School.test", product="hub")
    assert (found["outcome"], found["refusal"], found["admitted"]) == (outcome, refusal, refusal is None)
    assert found["what_to_do"].endswith(".")
    quoted = service.client.post("/v1/quotes", json={"product": "hub", "code": "NORTH-26", "buyer": "ada@school.test"})
    assert refusal == (quoted.json().get("refusal") if quoted.status_code == 200 else quoted.json()["code"])
    if refusal:
        assert found["buyer_sees"] == told(Browser(service).price("NORTH-26"))
    else:
        assert found["buyer_sees"] == "Your place is held."


def test_every_number(service: Service, clock: Clock, connection: psycopg.Connection[Any]) -> None:
    service.code(cap=9, per_buyer_limit=3, products=["hub"])
    period = set_cap(service, 4, note="agreed")
    service.open("a@school.test")
    clock.advance(minutes=41)
    service.open("b@school.test")
    found = explained(service, "north 26", buyer="b@school.test")
    expected = {
        "typed": "north 26", "folded": "n0rth26", "code": "NORTH-26", "institution": "Northfold", "outcome": "yours",
        "product": "hub", "amount": 1000, "period": period, "calendar": "academic_year", "calendar_of": "Northfold",
        "counts_with": "NORTH-26", "cap": 4, "cap_from": "period", "note": "agreed", "completed": 0, "pending": 0,
        "held": 1, "remaining": 3, "asks_first": 0, "buyer_limit": 3, "buyer_spent": 0, "time_zone": "Europe/London",
        "near": [],
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    assert found["claim"]["buyer"] == "b@school.test"
    assert found["next_release_at"] == found["claim"]["expires_at"]


def test_counts_together_with_another_code(service: Service, clock: Clock) -> None:
    """Whose places, and whose calendar, are told of the code that they are counted at."""
    service.code("POOL-26", cap=3)
    service.post("/v1/institutions", {"name": "Southfold", "time_zone": "Asia/Tokyo"}, status=201)
    service.code("SOUTH-26", cap=1, institution="southfold", counts_with="POOL-26")
    found = explained(service, "SOUTH-26")
    assert (found["counts_with"], found["calendar_of"], found["time_zone"]) == ("POOL-26", "Northfold", "Asia/Tokyo")
    assert (found["cap"], found["cap_from"]) == (3, "code")


def test_who_must_wait_for_wrong_codes_is_told(service: Service, clock: Clock) -> None:
    service.code()
    Browser(service).guess(30)
    found = explained(service)
    assert (found["admitted"], found["addresses_guessing"]) == (True, 1)


def test_bad_questions(service: Service) -> None:
    service.code()
    refused(service.client.get("/v1/codes/NOBODY/explain"), 404, "code-unknown")
    refused(service.client.get("/v1/codes/NORTH-26/explain", params={"product": "none"}), 422, "product-unknown")
    refused(service.client.get("/v1/codes/NORTH-26/explain", params={"buyer": ""}), 422, "invalid-request")


class TestThePage:
    @pytest.fixture
    def staff(self, signed: SignIn, service: Service) -> httpx.Client:
        service.code()
        return signed(Role.READ_ONLY)

    def test_from_the_codes_own(self, staff: httpx.Client) -> None:
        assert "/admin/explain?code=NORTH-26" in staff.get("/admin/codes/n0rth26").text
        page = staff.get("/admin/explain", params={"code": "north 26", "buyer": "ada@school.test"}).text
        assert "<strong>Let in</strong>" in page
        assert "Your place is held." in page
        assert "ada@school.test has used 0" in page

    def test_of_a_code_that_is_none(self, staff: httpx.Client) -> None:
        page = staff.get("/admin/explain", params={"code": "NORHT-26", "buyer": "ada@school.test"}).text
        assert "Did they mean" in page
        assert "/admin/explain?code=NORTH-26" in page
        assert "We do not recognise this code." in page

    @pytest.mark.parametrize(
        ("asked", "says"),
        [
            ({"code": ""}, "Why would somebody be refused?"),
            ({"code": "NORTH-26", "buyer": "\x01"}, "holds no control characters"),
            ({"code": "NORTH-26", "product": "none"}, "There is no product"),
            ({"code": "\0"}, "Why would somebody be refused?"),
            ({"code": "x" * 900}, "Refused"),
        ],
    )
    def test_of_what_makes_no_sense(self, staff: httpx.Client, asked: dict[str, str], says: str) -> None:
        answer = staff.get("/admin/explain", params=asked)
        assert answer.status_code in (200, 422)
        assert says in answer.text


@pytest.mark.parametrize("slip", ["NRTH26", "NORTHH26", "NORTG26", "NROTH26", "NORTH2", "XNORTH26"])
def test_a_slip_is_near(slip: str) -> None:
    """One character less, more or another, and two that changed places; and no more than that."""
    patterns = [re.compile(one.replace("_", ".")) for one in nearly(fold("NORTH26"))]
    assert any(one.fullmatch(fold(slip)) for one in patterns)
    assert not any(one.fullmatch(fold("SOUTH26")) for one in patterns)
