"""Institutions, products, codes and caps over HTTP: what is taken, what is refused, and in which words."""

from typing import Any

import pytest
from tests.service.test_the_door import refused
from tests.support.serving import Service

SCHOOL = {"name": "Northfold College", "time_zone": "Europe/London", "year_start": "09-01"}
HUB = {"id": "hub", "name": "Practice hub", "amount": 2000, "currency": "gbp", "unlocks": ["hub"]}
CODE: dict[str, Any] = {"institution": "northfold-college", "code": "NORTH-26", "cap": 2, "discount": {"percent": 50}}


@pytest.fixture
def school(service: Service) -> Service:
    """A service with one institution and one product."""
    service.post("/v1/institutions", SCHOOL, status=201)
    service.post("/v1/products", HUB, status=201)
    return service


def wrong(service: Service, method: str, path: str, body: Any, field: str) -> None:
    """It is refused, and the field is named."""
    said = refused(service.client.request(method, path, json=body), 422, "invalid-request")
    assert field in {one["field"] for one in said["errors"]}, said["errors"]


class TestInstitutions:
    def test_made_listed_and_read(self, service: Service) -> None:
        made = service.post("/v1/institutions", SCHOOL, status=201)
        assert {**SCHOOL, "slug": "northfold-college"}.items() <= made.items()
        assert isinstance(made["id"], str)
        assert service.get("/v1/institutions")["data"] == [made]
        assert service.get("/v1/institutions/northfold-college") == made
        assert service.get(f"/v1/institutions/{made['id']}") == made
        refused(service.client.get("/v1/institutions/nobody"), 404, "not-found")

    def test_the_year_starts_in_september_unless_it_is_said(self, service: Service) -> None:
        made = service.post("/v1/institutions", {"name": "N", "time_zone": "Europe/London"}, status=201)
        assert made["year_start"] == "09-01"

    def test_once(self, service: Service) -> None:
        service.post("/v1/institutions", SCHOOL, status=201)
        refused(service.client.post("/v1/institutions", json=SCHOOL), 409, "already-exists")
        service.post("/v1/institutions", SCHOOL | {"slug": "northfold-2"}, status=201)

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"name": ""}, "name"), ({"name": "   "}, "name"), ({"name": "a" * 251}, "name"), ({"name": 5}, "name"),
            ({"name": "a\u0000b"}, "name"), ({"name": "a\nb"}, "name"), ({"name": None}, "name"),
            ({"time_zone": "London"}, "time_zone"), ({"time_zone": "europe/london"}, "time_zone"),
            ({"time_zone": ""}, "time_zone"), ({"time_zone": "../etc/passwd"}, "time_zone"),
            ({"time_zone": "/etc/passwd"}, "time_zone"), ({"time_zone": "localtime"}, "time_zone"),
            ({"time_zone": "UTC+1"}, "time_zone"), ({"time_zone": "\u0000"}, "time_zone"),
            ({"time_zone": 1}, "time_zone"),
            ({"year_start": "9-1"}, "year_start"), ({"year_start": "13-01"}, "year_start"),
            ({"year_start": "02-30"}, "year_start"), ({"year_start": "02-29"}, "year_start"),
            ({"year_start": "2026-09-01"}, "year_start"), ({"year_start": 901}, "year_start"),
            ({"slug": "Upper"}, "slug"), ({"slug": "a b"}, "slug"), ({"slug": ""}, "slug"), ({"slug": "-"}, "slug"),
            ({"color": "red"}, "color"),
        ],
    )  # fmt: skip
    def test_refused(self, service: Service, change: dict[str, Any], field: str) -> None:
        wrong(service, "POST", "/v1/institutions", SCHOOL | change, field)
        assert service.get("/v1/institutions")["data"] == []

    def test_a_name_of_which_no_slug_can_be_made(self, service: Service) -> None:
        wrong(service, "POST", "/v1/institutions", SCHOOL | {"name": "!!!"}, "slug")


class TestProducts:
    def test_made_listed_and_read(self, service: Service) -> None:
        made = service.post("/v1/products", HUB, status=201)
        assert HUB.items() <= made.items()
        assert service.get("/v1/products")["data"] == [made]
        assert service.get("/v1/products/hub") == made
        refused(service.client.get("/v1/products/nothing"), 404, "not-found")
        refused(service.client.post("/v1/products", json=HUB), 409, "already-exists")

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"id": "Upper"}, "id"), ({"id": ""}, "id"), ({"id": "a/b"}, "id"), ({"id": 5}, "id"),
            ({"amount": -1}, "amount"), ({"amount": "2000"}, "amount"), ({"amount": 20.5}, "amount"),
            ({"amount": 2000.0}, "amount"), ({"amount": True}, "amount"), ({"amount": None}, "amount"),
            ({"amount": 100_000_000}, "amount"), ({"amount": 10**30}, "amount"),
            ({"currency": "GBP"}, "currency"), ({"currency": "pounds"}, "currency"), ({"currency": ""}, "currency"),
            ({"currency": "gbp\n"}, "currency"), ({"currency": None}, "currency"),
            ({"unlocks": "hub"}, "unlocks"), ({"unlocks": [5]}, "unlocks.0"), ({"unlocks": [""]}, "unlocks.0"),
            ({"price": 5}, "price"),
        ],
    )  # fmt: skip
    def test_refused(self, service: Service, change: dict[str, Any], field: str) -> None:
        wrong(service, "POST", "/v1/products", HUB | change, field)

    @pytest.mark.parametrize(
        ("currency", "amount", "minimum"),
        [("gbp", 29, 30), ("eur", 49, 50), ("usd", 1, 50), ("jpy", 49, 50), ("huf", 17499, 17500)],
    )
    def test_below_what_stripe_charges(self, service: Service, currency: str, amount: int, minimum: int) -> None:
        """Stripe's minimums: docs.stripe.com/currencies, 'Minimum and maximum charge amounts'."""
        body = HUB | {"currency": currency, "amount": amount}
        said = refused(service.client.post("/v1/products", json=body), 422, "amount-too-small")
        assert said["minimum"] == minimum
        service.post("/v1/products", body | {"amount": minimum}, status=201)

    def test_for_nothing(self, service: Service) -> None:
        service.post("/v1/products", HUB | {"amount": 0}, status=201)


class TestCodes:
    def test_made_listed_and_read_however_it_is_typed(self, school: Service) -> None:
        made = school.post("/v1/codes", CODE | {"code": " North–26 "}, status=201)
        assert (made["code"], made["cap"], made["discount"]) == ("North–26", 2, {"percent": 50})
        assert (made["calendar"], made["per_buyer_limit"], made["refund_policy"]) == ("academic_year", 1, "keep")
        assert (made["starts_on"], made["ends_on"], made["products"], made["counts_with"]) == (None,) * 4
        assert made["paused"] is False
        assert school.get("/v1/codes")["data"] == [made]
        for typed in (
            "NORTH-26",
            "north26",
            "N o r t h 2 6",
            "ＮＯＲＴＨ２６",
            "n0rth-26",
            "nor\u200bth-26",
            "NORTH—26",
        ):
            assert school.get(f"/v1/codes/{typed}") == made, typed
        refused(school.client.get("/v1/codes/S0UTH"), 404, "code-unknown")

    @pytest.mark.parametrize("again", ["NORTH-26", "north 26", "ＮＯＲＴＨ－２６", "N0RTH26"])
    def test_one_that_reads_the_same(self, school: Service, again: str) -> None:
        school.post("/v1/codes", CODE, status=201)
        refused(school.client.post("/v1/codes", json=CODE | {"code": again}), 409, "already-exists")

    @pytest.mark.parametrize("cap", [0, None, 1, 1_000_000_000])
    def test_caps(self, school: Service, cap: int | None) -> None:
        """0 admits nobody, null everybody: never confused."""
        assert school.post("/v1/codes", CODE | {"cap": cap}, status=201)["cap"] == cap
        usage = school.get("/v1/codes/NORTH-26/usage")
        assert (usage["cap"], usage["remaining"]) == (cap, cap)
        quote = school.post("/v1/quotes", {"product": "hub", "code": "NORTH-26"}, status=200)
        assert quote["available"] is (cap != 0)
        assert quote["refusal"] == ("allocation-spent" if cap == 0 else None)

    def test_a_cap_is_said(self, school: Service) -> None:
        """Left out, it is neither 0 nor null."""
        wrong(school, "POST", "/v1/codes", {name: value for name, value in CODE.items() if name != "cap"}, "cap")

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"cap": -1}, "cap"), ({"cap": 1_000_000_001}, "cap"), ({"cap": "5"}, "cap"), ({"cap": 1.5}, "cap"),
            ({"cap": True}, "cap"), ({"cap": 2.0}, "cap"), ({"cap": "none"}, "cap"),
            ({"code": ""}, "code"), ({"code": "---"}, "code"), ({"code": "\u200b"}, "code"), ({"code": 5}, "code"),
            ({"code": "a" * 65}, "code"), ({"code": "a\u0000b"}, "code"), ({"code": None}, "code"),
            ({"discount": {}}, "discount"), ({"discount": None}, "discount"), ({"discount": 50}, "discount"),
            ({"discount": {"percent": 0}}, "discount"), ({"discount": {"percent": -5}}, "discount"),
            ({"discount": {"percent": 100.01}}, "discount"), ({"discount": {"percent": 101}}, "discount"),
            ({"discount": {"percent": 33.333}}, "discount"), ({"discount": {"percent": 1e-9}}, "discount"),
            ({"discount": {"percent": "50"}}, "discount.percent"),
            ({"discount": {"percent": True}}, "discount.percent"),
            ({"discount": {"percent": None}}, "discount"),
            ({"discount": {"percent": 50, "currency": "gbp"}}, "discount"),
            ({"discount": {"percent": 50, "amount_off": 5, "currency": "gbp"}}, "discount"),
            ({"discount": {"amount_off": 500}}, "discount"), ({"discount": {"price": 500}}, "discount"),
            ({"discount": {"amount_off": -1, "currency": "gbp"}}, "discount.amount_off"),
            ({"discount": {"amount_off": "5", "currency": "gbp"}}, "discount.amount_off"),
            ({"discount": {"price": -1, "currency": "gbp"}}, "discount.price"),
            ({"discount": {"price": 5, "currency": "GBP"}}, "discount.currency"),
            ({"discount": {"price": 5, "amount_off": 5, "currency": "gbp"}}, "discount"),
            ({"discount": {"currency": "gbp"}}, "discount"), ({"discount": {"percent": 50, "x": 1}}, "discount.x"),
            ({"calendar": "weekly"}, "calendar"), ({"calendar": None}, "calendar"),
            ({"per_buyer_limit": 0}, "per_buyer_limit"), ({"per_buyer_limit": "1"}, "per_buyer_limit"),
            ({"starts_on": "soon"}, "starts_on"), ({"starts_on": "2026-02-30"}, "starts_on"),
            ({"starts_on": "2026-9-1"}, "starts_on"), ({"starts_on": 20260901}, "starts_on"),
            ({"starts_on": "2026-09-01T00:00:00Z"}, "starts_on"), ({"ends_on": "31/08/2027"}, "ends_on"),
            ({"starts_on": "2027-01-01", "ends_on": "2026-01-01"}, "ends_on"),
            ({"products": []}, "products"), ({"products": "hub"}, "products"),
            ({"products": ["nothing-of-ours"]}, "products"),
            ({"refund_policy": "never"}, "refund_policy"), ({"institution": ""}, "institution"),
            ({"paused": True}, "paused"), ({"valid": True}, "valid"),
        ],
    )  # fmt: skip
    def test_refused(self, school: Service, change: dict[str, Any], field: str) -> None:
        said = school.client.post("/v1/codes", json=CODE | change)
        if said.json()["code"] == "product-unknown":
            assert field == "products"
        else:
            body = refused(said, 422, "invalid-request")
            assert any(one["field"].startswith(field) for one in body["errors"]), body["errors"]
        assert school.get("/v1/codes")["data"] == []

    def test_of_nobody(self, school: Service) -> None:
        refused(school.client.post("/v1/codes", json=CODE | {"institution": "nobody"}), 422, "institution-unknown")

    def test_counting_with_a_code_that_is_none(self, school: Service) -> None:
        refused(school.client.post("/v1/codes", json=CODE | {"counts_with": "S0UTH"}), 422, "code-unknown")

    def test_two_codes_of_one_allocation(self, school: Service) -> None:
        """Both count against the first one's cap."""
        school.post("/v1/codes", CODE | {"cap": 1}, status=201)
        second = school.post("/v1/codes", CODE | {"code": "SECOND", "cap": 50, "counts_with": "north26"}, status=201)
        assert second["counts_with"] == "NORTH-26"
        school.open("a@school.test", "SECOND")
        for code in ("NORTH-26", "SECOND"):
            usage = school.get(f"/v1/codes/{code}/usage")
            assert (usage["cap"], usage["held"], usage["remaining"]) == (1, 1, 0)
        refused(school.client.post("/v1/checkouts", json=school.order("b@school.test")), 409, "allocation-held")


class TestChanges:
    def test_what_is_not_sent_stays(self, school: Service) -> None:
        made = school.post("/v1/codes", CODE | {"ends_on": "2027-08-31"}, status=201)
        changed = school.client.patch("/v1/codes/north26", json={"discount": {"amount_off": 500, "currency": "gbp"}})
        assert changed.status_code == 200
        assert changed.json() == made | {"discount": {"amount_off": 500, "currency": "gbp"}}

    def test_nothing_changes_nothing(self, school: Service) -> None:
        made = school.post("/v1/codes", CODE, status=201)
        assert school.client.patch("/v1/codes/north26", json={}).json() == made

    def test_null_lifts_what_can_be_lifted(self, school: Service) -> None:
        school.post("/v1/codes", CODE | {"ends_on": "2027-08-31", "products": ["hub"]}, status=201)
        changed = school.client.patch(
            "/v1/codes/north26", json={"ends_on": None, "products": None, "cap": None, "per_buyer_limit": None}
        ).json()
        assert (changed["ends_on"], changed["products"], changed["cap"], changed["per_buyer_limit"]) == (None,) * 4

    def test_a_cap_is_that_of_periods_to_come(self, school: Service) -> None:
        """PATCH never changes an allocation that exists."""
        school.post("/v1/codes", CODE, status=201)
        school.open("a@school.test")
        assert school.client.patch("/v1/codes/north26", json={"cap": 50}).json()["cap"] == 50
        assert school.get("/v1/codes/north26/usage")["cap"] == 2
        assert school.get("/v1/codes/north26/usage", period="2031-32")["cap"] == 50

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"cap": -1}, "cap"), ({"discount": None}, "discount"), ({"discount": {"percent": 200}}, "discount"),
            ({"paused": None}, "paused"), ({"paused": "yes"}, "paused"), ({"refund_policy": None}, "refund_policy"),
            ({"code": "OTHER"}, "code"), ({"institution": "x"}, "institution"), ({"calendar": None}, "calendar"),
            ({"ends_on": "2020-01-01", "starts_on": "2021-01-01"}, "ends_on"), ({"products": []}, "products"),
        ],
    )  # fmt: skip
    def test_refused(self, school: Service, change: dict[str, Any], field: str) -> None:
        made = school.post("/v1/codes", CODE, status=201)
        said = refused(school.client.patch("/v1/codes/north26", json=change), 422, "invalid-request")
        assert any(one["field"].startswith(field) for one in said["errors"]), said["errors"]
        assert school.get("/v1/codes/north26") == made

    def test_a_window_is_checked_against_what_stays(self, school: Service) -> None:
        school.post("/v1/codes", CODE | {"starts_on": "2026-09-01"}, status=201)
        wrong(school, "PATCH", "/v1/codes/north26", {"ends_on": "2026-08-01"}, "ends_on")

    def test_a_code_that_is_none(self, school: Service) -> None:
        refused(school.client.patch("/v1/codes/S0UTH", json={"paused": True}), 404, "code-unknown")

    def test_paused_and_resumed(self, school: Service) -> None:
        school.post("/v1/codes", CODE, status=201)
        assert school.client.patch("/v1/codes/north26", json={"paused": True}).json()["paused"] is True
        refused(school.client.post("/v1/checkouts", json=school.order("a@school.test")), 409, "code-paused")
        assert school.client.patch("/v1/codes/north26", json={"paused": False}).json()["paused"] is False
        school.open("a@school.test")


class TestCaps:
    PATH = "/v1/codes/NORTH-26/allocations/"

    def put(self, service: Service, period: str, **body: Any) -> Any:
        return service.client.put(self.PATH + period, json=body)

    def test_raised_freely_and_listed(self, school: Service) -> None:
        code = school.post("/v1/codes", CODE, status=201)
        now = self.put(school, code["period"], cap=5, note="asked for by the head").json()
        assert (now["cap"], now["remaining"], now["note"]) == (5, 5, "asked for by the head")
        later = self.put(school, "2031-32", cap=None).json()
        assert (later["period"], later["cap"], later["remaining"]) == ("2031-32", None, None)
        listed = school.get(self.PATH.rstrip("/"))["data"]
        assert [one["period"] for one in listed] == ["2031-32", code["period"]]
        assert school.get("/v1/codes/NORTH-26")["cap"] == 2

    def test_below_what_is_used_only_on_confirmation(self, school: Service) -> None:
        """Then holds may finish, and nobody new is let in."""
        code = school.post("/v1/codes", CODE, status=201)
        first = school.open("a@school.test")
        school.open("b@school.test")
        said = refused(self.put(school, code["period"], cap=1), 409, "cap-below-used")
        assert said["used"] == 2
        assert school.get("/v1/codes/NORTH-26/usage")["cap"] == 2
        lowered = self.put(school, code["period"], cap=1, confirm=True).json()
        assert (lowered["cap"], lowered["held"], lowered["remaining"], lowered["over"]) == (1, 2, 0, 0)
        assert school.open("a@school.test", status=200)["url"] == first["url"]
        refused(school.client.post("/v1/checkouts", json=school.order("c@school.test")), 409, "allocation-held")

    def test_only_while_it_is_what_was_seen(self, school: Service) -> None:
        """For whoever says what they saw, also that they saw no cap; whoever says nothing sets it."""
        code = school.post("/v1/codes", CODE, status=201)
        for was in (None, 3):
            said = refused(self.put(school, code["period"], cap=5, was=was), 409, "cap-moved")
            assert (said["cap"], "it is 2 places now" in said["detail"]) == (2, True)
        assert self.put(school, code["period"], cap=None, was=2).json()["cap"] is None
        assert refused(self.put(school, code["period"], cap=5, was=2), 409, "cap-moved")["cap"] is None
        assert self.put(school, code["period"], cap=5, was=None).json()["cap"] == 5
        assert self.put(school, code["period"], cap=6).json()["cap"] == 6

    def test_to_nothing(self, school: Service) -> None:
        code = school.post("/v1/codes", CODE, status=201)
        assert self.put(school, code["period"], cap=0).json()["remaining"] == 0
        refused(school.client.post("/v1/checkouts", json=school.order("a@school.test")), 409, "allocation-spent")

    @pytest.mark.parametrize(
        "period", ["2026", "2026-28", "2026-2027", "26-27", "now", "2026-27x", "２０２６-27", " ", "2026-27 "]
    )
    def test_periods_that_are_none(self, school: Service, period: str) -> None:
        school.post("/v1/codes", CODE, status=201)
        refused(self.put(school, period, cap=5), 422, "period-invalid")
        refused(school.client.get(f"/v1/codes/NORTH-26/usage?period={period}"), 422, "period-invalid")

    @pytest.mark.parametrize(
        ("calendar", "good", "bad"),
        [("calendar_year", "2031", "2031-32"), ("month", "2031-03", "2031-13"), ("all", "all", "2031")],
    )
    def test_periods_of_other_calendars(self, school: Service, calendar: str, good: str, bad: str) -> None:
        school.post("/v1/codes", CODE | {"calendar": calendar}, status=201)
        assert self.put(school, good, cap=5).json()["cap"] == 5
        refused(self.put(school, bad, cap=5), 422, "period-invalid")

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({}, "cap"), ({"cap": -1}, "cap"), ({"cap": "5"}, "cap"), ({"cap": 5, "confirm": "yes"}, "confirm"),
            ({"cap": 5, "note": 5}, "note"), ({"cap": 5, "note": "a" * 2001}, "note"), ({"cap": 5, "why": ""}, "why"),
        ],
    )  # fmt: skip
    def test_refused(self, school: Service, body: dict[str, Any], field: str) -> None:
        code = school.post("/v1/codes", CODE, status=201)
        wrong(school, "PUT", self.PATH + code["period"], body, field)

    def test_of_a_code_that_is_none(self, school: Service) -> None:
        for said in (
            school.client.put("/v1/codes/NONE/allocations/2026-27", json={"cap": 5}),
            school.client.get("/v1/codes/NONE/allocations"),
            school.client.get("/v1/codes/NONE/usage"),
        ):
            refused(said, 404, "code-unknown")
