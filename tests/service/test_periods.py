"""Periods over HTTP and by form: named ones, another calendar, zone or year, the next year, pools, places that move."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import psycopg
import pytest
from tests.conftest import Clock
from tests.support.admin import error_of, fields, text_of
from tests.support.serving import Service

from counterfoil.simulator import Running

CODE = "/v1/codes/NORTH-26"
NOBODY = "a@school.test"


def today(clock: Clock) -> date:
    """The day that it is in London, by the clock that decides."""
    row = clock.connection.execute("SELECT (counterfoil.clock() AT TIME ZONE 'Europe/London')::date").fetchone()
    assert row
    day: date = row[0]
    return day


def name_period(service: Service, name: str, first: date, last: date, status: int = 200) -> Any:
    answer = service.client.put(
        f"{CODE}/periods/{name}", json={"starts_on": first.isoformat(), "ends_on": last.isoformat()}
    )
    assert answer.status_code == status, answer.text
    return answer.json()


def days(number: int) -> timedelta:
    return timedelta(days=number)


def all_rows(connection: psycopg.Connection[Any]) -> list[Any]:
    """What was counted: every allocation and every redemption, whole."""
    return [
        connection.execute(f"SELECT * FROM counterfoil.{table} AS t ORDER BY t::text".encode()).fetchall()
        for table in ("allocation", "redemption")
    ]


class TestNamed:
    def test_let_in_within_one_and_not_between(self, service: Service, clock: Clock) -> None:
        """The last day is whole. In the gap the next one's days are told, after the last one that it ended."""
        now = today(clock)
        service.code(cap=1, calendar="custom")
        assert service.open(NOBODY, status=409)["code"] == "code-not-open"
        assert service.get(CODE)["period"] is None
        assert service.get(f"{CODE}/usage", status=422)["code"] == "period-invalid"
        name_period(service, "Autumn", now, now + days(1))
        name_period(service, "Spring", now + days(4), now + days(5))
        sale = service.open(NOBODY)
        assert sale["redemption"]["period"] == "Autumn"
        assert service.get(f"{CODE}/usage")["starts_on"] == now.isoformat()
        self.to_the_last_second_of(clock, now + days(1))
        assert service.open("b@school.test")["redemption"]["period"] == "Autumn"
        clock.advance(seconds=2)
        told = service.open("c@school.test", status=409)
        assert (told["code"], told["starts_on"], told["ends_on"]) == (
            "code-not-open", (now + days(4)).isoformat(), (now + days(5)).isoformat()
        )  # fmt: skip
        assert service.get(CODE)["period"] == "Spring"
        clock.advance(days=3)
        assert service.open("c@school.test")["redemption"]["period"] == "Spring"
        clock.advance(days=5)
        told = service.open("d@school.test", status=409)
        assert (told["code"], told["ends_on"]) == ("code-ended", (now + days(5)).isoformat())
        listed = [one["period"] for one in service.get(f"{CODE}/allocations")["data"]]
        assert listed == ["Spring", "Autumn"]

    def to_the_last_second_of(self, clock: Clock, day: date) -> None:
        london = ZoneInfo("Europe/London")
        end = datetime(day.year, day.month, day.day, 23, 59, 59, tzinfo=london)
        row = clock.connection.execute("SELECT counterfoil.clock()").fetchone()
        assert row
        clock.advance(seconds=(end - row[0]).total_seconds())

    def test_no_day_is_in_two(self, service: Service, clock: Clock) -> None:
        now = today(clock)
        service.code(calendar="custom")
        name_period(service, "Autumn", now, now + days(9))
        for first, last in ((9, 12), (-3, 0), (3, 4), (-5, 20)):
            told = name_period(service, "Other", now + days(first), now + days(last), 409)
            assert (told["code"], told["period"]) == ("period-overlaps", "Autumn")
        assert name_period(service, "AUTUMN", now + days(30), now + days(31), 409)["code"] == "already-exists"
        assert name_period(service, "Autumn", now, now + days(8))["ends_on"] == (now + days(8)).isoformat()
        name_period(service, "Other", now + days(9), now + days(9))

    @pytest.mark.parametrize("name", ["2026-27", "2027", "2027-03", "all", "x" * 33, "a_b", "%20"])
    def test_names_that_are_none(self, service: Service, clock: Clock, name: str) -> None:
        service.code(calendar="custom")
        assert name_period(service, name, today(clock), today(clock), 422)["code"] == "invalid-request"
        for method, path in (("GET", "periods"), ("DELETE", "periods"), ("PUT", "allocations")):
            body = {"json": {"cap": 1}} if method == "PUT" else {}
            answer = service.client.request(method, f"{CODE}/{path}/{name}", **body)  # type: ignore[arg-type]
            assert (answer.status_code, answer.json()["code"]) == (422, "period-invalid")

    def test_removed_while_nobody_needs_it(self, service: Service, clock: Clock) -> None:
        now = today(clock)
        service.code(calendar="custom")
        name_period(service, "Autumn", now, now + days(9))
        name_period(service, "Spring", now + days(20), now + days(21))
        service.open(NOBODY)
        told = service.client.delete(f"{CODE}/periods/Autumn")
        assert (told.status_code, told.json()["code"]) == (409, "period-in-use")
        assert service.client.delete(f"{CODE}/periods/Spring").status_code == 204
        assert service.client.delete(f"{CODE}/periods/Spring").status_code == 422
        assert [one["period"] for one in service.get(f"{CODE}/periods")["data"]] == ["Autumn"]

    def test_the_days_of_one_in_use_may_be_changed(self, service: Service, clock: Clock) -> None:
        """Its allocation goes with it: it is this very period."""
        now = today(clock)
        service.code(calendar="custom", cap=5)
        name_period(service, "Autumn", now, now + days(9))
        service.open(NOBODY)
        name_period(service, "Autumn", now - days(1), now + days(20))
        usage = service.get(f"{CODE}/usage", period="Autumn")
        assert (usage["starts_on"], usage["ends_on"], usage["held"]) == (
            (now - days(1)).isoformat(), (now + days(20)).isoformat(), 1
        )  # fmt: skip

    def test_pages_of_it(self, service: Service, clock: Clock, staff: httpx.Client) -> None:
        """Before it has one, between two, and with a name that needs quoting in an address."""
        now = today(clock)
        service.code(calendar="custom", cap=5)
        assert "No period yet" in text_of(staff.get("/admin/codes/n0rth26"))
        assert staff.get("/admin/codes").status_code == staff.get("/admin").status_code == 200
        at = "/admin/codes/n0rth26/periods"
        typed = {"name": "Spring term 2027", "starts_on": (now + days(2)).isoformat(), "ends_on": ""}
        said = staff.post(at, data=typed)
        assert (said.status_code, error_of(said, "ends_on")) == (422, "Fill this in. ".strip())
        assert fields(said)["name"] == "Spring term 2027"
        good = typed | {"ends_on": (now + days(9)).isoformat()}
        assert staff.post(at, data=good).status_code == 303
        assert staff.post(at, data=good).status_code == 303
        said = staff.post(at, data=good | {"name": "Other"})
        assert (said.status_code, "Spring term 2027 has some" in error_of(said, "starts_on")) == (409, True)
        shown = staff.get("/admin/codes/n0rth26")
        assert "period=Spring%20term%202027" in shown.text
        cap = fields(staff.get("/admin/codes/n0rth26/cap", params={"period": "Spring term 2027"}))
        assert staff.post("/admin/codes/n0rth26/cap", data=cap | {"cap": "7"}).status_code == 303
        assert service.get(f"{CODE}/usage")["cap"] == 7
        assert staff.post(f"{at}/remove", data={"name": "Spring term 2027"}).status_code == 409
        assert staff.post(f"{at}/remove", data={"name": "\0"}).status_code == 409


class TestAnotherCalendar:
    @pytest.mark.parametrize(
        ("path", "change"),
        [
            ("/v1/institutions/northfold", {"time_zone": "Pacific/Auckland"}),
            ("/v1/institutions/northfold", {"year_start": "12-31"}),
            (CODE, {"calendar": "month"}),
            (CODE, {"calendar": "all"}),
            (CODE, {"calendar": "custom"}),
        ],
    )
    def test_what_was_counted_stays(
        self, service: Service, simulator: Running, connection: psycopg.Connection[Any], path: str, change: Any
    ) -> None:
        """No row changes; a hold of before is paid where it was held; twice the same changes nothing."""
        service.code(cap=3)
        was = service.get(CODE)["period"]
        first, second = service.open("a@school.test"), service.open("b@school.test")
        simulator.pay(first["session_id"])
        counted, numbers = all_rows(connection), service.get(f"{CODE}/usage")
        for _ in range(2):
            assert service.client.patch(path, json=change).status_code == 200
            assert all_rows(connection) == counted
            told = service.get(f"{CODE}/usage", period=was)
            assert {**told, "starts_on": 0, "ends_on": 0} == {**numbers, "starts_on": 0, "ends_on": 0}
        simulator.pay(second["session_id"])
        after = service.get(f"{CODE}/usage", period=was)
        assert (after["completed"], after["held"], after["cap"]) == (2, 0, 3)
        assert service.get(f"/v1/checkouts/{second['id']}")["redemption"]["period"] == was

    def test_a_period_that_is_over_keeps_its_days(self, service: Service, clock: Clock) -> None:
        service.code(cap=3)
        service.open(NOBODY)
        was = service.get(f"{CODE}/usage")
        clock.advance(days=400)
        service.client.patch("/v1/institutions/northfold", json={"year_start": "01-15"})
        now = service.get(f"{CODE}/usage", period=was["period"])
        assert (now["starts_on"], now["ends_on"]) == (was["starts_on"], was["ends_on"])
        assert service.get(f"{CODE}/usage")["starts_on"].endswith("-01-15")

    def test_periods_of_before_may_be_read_and_no_others(self, service: Service) -> None:
        service.code(cap=3)
        was = service.get(CODE)["period"]
        service.open(NOBODY)
        service.client.patch(CODE, json={"calendar": "month"})
        assert service.get(f"{CODE}/usage", period=was)["held"] == 1
        assert service.get(f"{CODE}/usage", status=422, period="2019-20")["code"] == "period-invalid"
        assert service.client.put(f"{CODE}/allocations/2019-20", json={"cap": 1}).status_code == 422

    @pytest.mark.parametrize("change", [{"name": None}, {"time_zone": "Mars"}, {"year_start": "02-29"}, {"slug": "x"}])
    def test_refused(self, service: Service, change: Any) -> None:
        service.code()
        told = service.client.patch("/v1/institutions/northfold", json=change)
        assert (told.status_code, told.json()["code"]) == (422, "invalid-request")
        assert service.client.patch("/v1/institutions/nobody", json={}).status_code == 404

    def test_the_page_tells_before_it_is_saved(self, service: Service, staff: httpx.Client) -> None:
        """Once to look, once to do it; whatever is typed otherwise is looked at anew; twice changes nothing."""
        service.code()
        was = service.get(CODE)["period"]
        at = "/admin/institutions/northfold/calendar"
        offered = fields(staff.get(at))
        assert staff.post(at, data=offered).headers["location"].endswith("told=calendar-same")
        typed = offered | {"month": "12", "day": "31"}
        said = staff.post(at, data=typed)
        assert (said.status_code, f"instead of {was}" in text_of(said)) == (200, True)
        assert service.get(CODE)["period"] == was
        known = {"known": "Europe/London 12-31"}
        assert "Nothing was changed yet" in staff.post(at, data=typed | known | {"day": "30"}).text
        assert staff.post(at, data=typed | known).status_code == 303
        now = service.get(CODE)["period"]
        assert now != was
        assert staff.post(at, data=typed | known).headers["location"].endswith("told=calendar-same")
        mine = offered | {"time_zone": "Asia/Tokyo", "known": "Asia/Tokyo 09-01"}
        said = staff.post(at, data=mine)
        assert (said.status_code, fields(said)["time_zone"]) == (409, "Asia/Tokyo")

    def test_a_codes_calendar_by_form(self, service: Service, staff: httpx.Client) -> None:
        service.code()
        at = "/admin/codes/n0rth26/calendar"
        offered = {"version": "1", "calendar": "month"}
        said = staff.post(at, data=offered)
        assert (said.status_code, "Now would be" in text_of(said)) == (200, True)
        assert service.get(CODE)["calendar"] == "academic_year"
        assert staff.post(at, data=offered | {"known": "all"}).status_code == 200
        assert staff.post(at, data=offered | {"known": "month"}).status_code == 303
        assert service.get(CODE)["calendar"] == "month"
        said = staff.post(at, data={"version": "1", "calendar": "all", "known": "all"})
        assert said.status_code == 409


class TestSavingTwice:
    @pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/Los_Angeles", "Europe/London"])
    def test_a_window_does_not_drift(self, service: Service, staff: httpx.Client, zone: str) -> None:
        """Days are days: what is offered and saved again, twice, is what it was."""
        service.code(starts_on="2027-10-31", ends_on="2028-03-26")
        service.client.patch("/v1/institutions/northfold", json={"time_zone": zone})
        was = service.get(CODE)
        for _ in range(2):
            offered = fields(staff.get("/admin/codes/n0rth26/edit"))
            assert staff.post("/admin/codes/n0rth26/edit", data=offered).status_code == 303
            assert service.get(CODE) == was


class TestTheNextYear:
    def test_prepared_early_it_holds_from_the_first_local_instant(
        self, service: Service, clock: Clock, staff: httpx.Client
    ) -> None:
        service.code(cap=1, per_buyer_limit=None)
        page = staff.get("/admin/codes/n0rth26")
        now = service.get(CODE)["period"]
        following = f"{int(now[:4]) + 1}-{(int(now[:4]) + 2) % 100:02}"
        assert f"{following} (next)" in page.text
        tab = staff.get("/admin/codes/n0rth26", params={"period": following})
        assert f"Prepare {following}" in tab.text
        form = fields(staff.get("/admin/codes/n0rth26/cap", params={"period": following}))
        assert staff.post("/admin/codes/n0rth26/cap", data=form | {"cap": "2"}).status_code == 303
        assert f"Prepare {following}" not in staff.get("/admin/codes/n0rth26", params={"period": following}).text
        last_day = date(int(now[:4]) + 1, 8, 31)
        TestNamed().to_the_last_second_of(clock, last_day)
        assert service.open("a@school.test")["redemption"]["period"] == now
        assert service.open("b@school.test", status=409)["period"] == now
        clock.advance(seconds=2)
        for buyer in ("b@school.test", "c@school.test"):
            assert service.open(buyer)["redemption"]["period"] == following
        assert service.open("d@school.test", status=409)["cap"] == 2


class TestMoving:
    def test_over_http(self, service: Service) -> None:
        """Both sides are answered; the same key again moves nothing more."""
        service.code(cap=3)
        service.code("SOUTH", cap=3)
        at = f"{CODE}/allocations/{service.get(CODE)['period']}/move"
        for _ in range(2):
            said = service.post(at, {"places": 2, "to": "south", "note": "n"}, status=200, **{"Idempotency-Key": "k"})
            assert (said["taken_from"]["cap"], said["given_to"]["cap"], said["given_to"]["code"]) == (1, 5, "SOUTH")
        told = service.post(at, {"places": 2, "to": "south"}, status=409)
        assert (told["code"], told["free"]) == ("cap-below-used", 1)
        assert service.post(at, {"places": 1}, status=422)["code"] == "invalid-request"
        assert service.post(at, {"places": 0, "to": "south"}, status=422)["code"] == "invalid-request"
        assert service.post(at, {"places": 1, "to": "nobodys"}, status=422)["code"] == "code-unknown"
        assert service.post(at, {"places": 1, "period": "2027"}, status=422)["code"] == "period-invalid"
        service.code("OPEN", cap=None)
        assert service.post(at, {"places": 1, "to": "OPEN"}, status=409)["code"] == "no-cap"

    def test_by_form(self, service: Service, staff: httpx.Client) -> None:
        """What is wrong is said beside it and loses nothing; both pages tell of it afterwards."""
        service.code(cap=3)
        service.code("SOUTH", cap=3)
        now = service.get(CODE)["period"]
        at = "/admin/codes/n0rth26/move"
        offered = fields(staff.get(at))
        assert (offered["to"], offered["period"]) == ("NORTH-26", now)
        typed = offered | {"places": "4", "to": "SOUTH", "to_period": now}
        for wrong, field in (
            ({}, "places"), ({"places": "x"}, "places"), ({"to": "NOBODYS"}, "to"), ({"to_period": "x"}, "to_period"),
            ({"to": "NORTH-26"}, "to"), ({"to_period": "\0"}, "to_period"),
        ):  # fmt: skip
            sent = typed | ({"places": "1"} if wrong and field != "places" else {}) | wrong
            said = staff.post(at, data=sent)
            assert said.status_code in (409, 422)
            assert error_of(said, field), field
            assert fields(said)["to"] == sent["to"]
        assert staff.post(at, data=typed | {"places": "2"}).status_code == 303
        assert f"2 moved to SOUTH {now}" in text_of(staff.get("/admin/codes/n0rth26"))
        assert f"2 moved from NORTH-26 {now}" in text_of(staff.get("/admin/codes/s0uth"))


class TestPools:
    def test_one_calendar_counts_for_all_of_it(self, service: Service) -> None:
        """That of the code that the others count with, in its institution's zone; and a buyer's limit is over all."""
        service.code(cap=2)
        service.post(
            "/v1/institutions", {"name": "South", "time_zone": "Pacific/Auckland", "year_start": "02-01"}, status=201
        )
        made = service.code("SOUTH", cap=9, institution="south", counts_with="north 26")
        third = service.code("THIRD", cap=9, institution="south", counts_with="SOUTH")
        root = service.get(CODE)
        assert third["counts_with"] == made["counts_with"] == "NORTH-26"
        assert (made["calendar"], made["period"]) == (root["calendar"], root["period"])
        service.open("a@school.test", "SOUTH")
        # The same buyer with another code of it: the place moves, and is one.
        assert service.open("a@school.test", "THIRD")["redemption"]["code"] == "THIRD"
        assert service.get(f"{CODE}/usage")["held"] == 1
        service.open("b@school.test", "THIRD")
        assert service.open("c@school.test", status=409)["code"] == "allocation-held"
        for one in ("NORTH-26", "SOUTH", "THIRD"):
            usage = service.get(f"/v1/codes/{one}/usage", period=root["period"])
            assert (usage["cap"], usage["held"], usage["period"]) == (2, 2, root["period"])

    def test_its_calendar_is_changed_at_its_root(self, service: Service) -> None:
        service.code()
        service.code("SOUTH", counts_with="NORTH-26")
        told = service.client.patch("/v1/codes/SOUTH", json={"calendar": "month"})
        assert (told.status_code, told.json()["code"], told.json()["counts_with"]) == (
            409, "counts-elsewhere", "NORTH-26"
        )  # fmt: skip
        put = service.client.put(
            "/v1/codes/SOUTH/periods/Term", json={"starts_on": "2027-01-01", "ends_on": "2027-02-01"}
        )
        assert put.json()["code"] == "counts-elsewhere"
        assert service.client.delete("/v1/codes/SOUTH/periods/Term").status_code == 422
        assert service.client.patch(CODE, json={"calendar": "month"}).status_code == 200
        assert service.get("/v1/codes/SOUTH")["calendar"] == "month"

    def test_another_calendar_than_the_roots_is_refused(self, service: Service) -> None:
        service.code()
        body = {"institution": "northfold", "code": "S", "cap": 1, "discount": {"percent": 5}, "calendar": "month"}
        told = service.post("/v1/codes", body | {"counts_with": "NORTH-26"}, status=422)
        assert told["errors"][0]["field"] == "calendar"
        assert "academic_year" in told["detail"]
