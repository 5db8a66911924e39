"""What a code grants and how many places it has, by forms: nothing typed is lost, nobody's change overwritten."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest
from tests.support.admin import SignIn, error_of, fields, text_of
from tests.support.races import beside, until
from tests.support.serving import Service

from counterfoil.service.roles import Role
from counterfoil.simulator import Running

NEW = "/admin/institutions/northfold/new-code"
EDIT = "/admin/codes/n0rth26/edit"
CAP = "/admin/codes/n0rth26/cap"

#: A form that is right.
GOOD = {
    "code": "WINTER-9", "cap": "1,200", "kind": "percent", "value": "12.5", "currency": "gbp", "per_buyer": "1",
    "starts_on": "", "ends_on": "", "refund_policy": "keep", "calendar": "academic_year", "counts_with": "",
}  # fmt: skip


class TestANewCode:
    def test_added_as_typed(self, staff: httpx.Client, service: Service) -> None:
        service.code()
        said = staff.post(NEW, data=GOOD | {"products": "hub", "starts_on": "2027-10-01", "ends_on": "2028-03-31"})
        assert (said.status_code, said.headers["location"]) == (303, "/admin/codes/w1nter9?told=code-added")
        assert "works from now on" in staff.get(said.headers["location"]).text
        made = service.get("/v1/codes/WINTER-9")
        assert (made["cap"], made["discount"], made["products"]) == (1200, {"percent": 12.5}, ["hub"])
        assert (made["starts_on"], made["ends_on"]) == ("2027-10-01", "2028-03-31")

    @pytest.mark.parametrize(
        ("typed", "discount"),
        [
            ({"value": "100 %"}, {"percent": 100}),
            ({"kind": "amount_off", "value": "5"}, {"amount_off": 500, "currency": "gbp"}),
            ({"kind": "price", "value": "0"}, {"price": 0, "currency": "gbp"}),
            ({"kind": "price", "value": "1 500", "currency": "jpy"}, {"price": 1500, "currency": "jpy"}),
            (
                {"kind": "amount_off", "value": "5", "currencies": "EUR 6.00\r\n\r\n 900 jpy "},
                {"amount_off": 500, "currency": "gbp", "currencies": {"eur": 600, "jpy": 900}},
            ),
            (
                {"kind": "price", "value": "5.120", "currency": "kwd", "currencies": "gbp: 0"},
                {"price": 5120, "currency": "kwd", "currencies": {"gbp": 0}},
            ),
            ({"at_most": "GBP 20\r\nISK 2500"}, {"percent": 12.5, "at_most": {"gbp": 2000, "isk": 250000}}),
        ],
    )
    def test_each_discount(
        self, staff: httpx.Client, service: Service, typed: dict[str, str], discount: dict[str, Any]
    ) -> None:
        """And what it is offered as for editing is what was typed, in the same units."""
        service.code()
        assert staff.post(NEW, data=GOOD | typed | {"cap": "", "uncapped": "yes"}).status_code == 303
        made = service.get("/v1/codes/WINTER-9")
        assert (made["discount"], made["cap"]) == (discount, None)
        offered = fields(staff.get("/admin/codes/WINTER-9/edit"))
        assert staff.post("/admin/codes/WINTER-9/edit", data=offered).status_code == 303
        assert service.get("/v1/codes/WINTER-9")["discount"] == discount

    @pytest.mark.parametrize(
        ("field", "typed", "word"),
        [
            ("new-code", {"code": "!!"}, ""),
            ("cap", {"cap": "many"}, "whole number"),
            ("cap", {"cap": ""}, "whole number"),
            ("cap", {"cap": "-1"}, "whole number"),
            ("value", {"value": "0"}, "percentage"),
            ("value", {"value": "100.01"}, "percentage"),
            ("value", {"value": "12,5"}, "percentage"),
            ("value", {"kind": "amount_off", "value": "0"}, "amount in GBP"),
            ("value", {"kind": "amount_off", "value": "1.234"}, "amount in GBP"),
            ("value", {"kind": "price", "value": "1.5", "currency": "jpy"}, "amount in JPY like 15,"),
            ("value", {"kind": "price", "value": "5.124", "currency": "kwd"}, "write 5.120 or 5.130"),
            ("value", {"kind": "amount_off", "value": "1.50", "currency": "isk"}, "write 1.00 or 2.00"),
            ("currencies", {"kind": "price", "currencies": "EUR"}, "like EUR 6.00"),
            ("currencies", {"kind": "price", "currencies": "XXX 5"}, "like EUR 6.00"),
            ("currencies", {"kind": "price", "currencies": "EUR 5,00"}, "amount in EUR"),
            ("currencies", {"kind": "price", "currencies": "EUR 5\r\nUSD 6\r\neur 5"}, "EUR is given twice"),
            ("currencies", {"kind": "price", "currencies": "GBP 5"}, "above already"),
            ("currencies", {"kind": "amount_off", "currencies": "EUR 0"}, "amount in EUR"),
            ("currencies", {"currencies": "EUR 5"}, "same in all currencies"),
            ("at_most", {"at_most": "GBP 0"}, "amount in GBP"),
            ("at_most", {"kind": "price", "at_most": "GBP 20"}, "for a percentage"),
            ("kind", {"kind": "gift"}, "Choose"),
            ("currency", {"kind": "price", "currency": "xxx"}, "Choose"),
            ("per_buyer", {"per_buyer": "0"}, "whole number"),
            ("starts_on", {"starts_on": "1/10/2027"}, "like 2027-08-31"),
            ("ends_on", {"starts_on": "2027-10-02", "ends_on": "2027-10-01"}, "before the first"),
            ("refund_policy", {"refund_policy": "x"}, "Choose"),
            ("calendar", {"calendar": "moon"}, "Choose"),
            ("products", {"products": "nothing"}, "nothing"),
            ("counts_with", {"counts_with": "NOBODYS"}, "NOBODYS"),
        ],
    )
    def test_what_is_wrong_is_said_beside_it(
        self, staff: httpx.Client, service: Service, field: str, typed: dict[str, str], word: str
    ) -> None:
        """Nothing is added, and all that was typed is there."""
        service.code()
        said = staff.post(NEW, data=GOOD | typed)
        assert said.status_code == 422
        assert error_of(said, field)
        assert word in error_of(said, field)
        again = fields(said)
        for name, value in (GOOD | typed).items():
            if name not in ("kind", "currency", "refund_policy", "calendar", "products"):
                assert again[name] == value, name
        assert len(service.get("/v1/codes")["data"]) == 1

    def test_one_that_reads_the_same(self, staff: httpx.Client, service: Service) -> None:
        service.code()
        said = staff.post(NEW, data=GOOD | {"code": "north 26"})
        assert (said.status_code, "reads the same" in error_of(said, "new-code")) == (409, True)

    def test_of_no_institution(self, staff: httpx.Client, service: Service) -> None:
        assert staff.get("/admin/institutions/nobody/new-code").status_code == 404
        assert staff.post("/admin/institutions/nobody/new-code", data=GOOD).status_code == 404


class TestEditing:
    def test_open_checkouts_keep_their_price(self, staff: httpx.Client, service: Service, simulator: Running) -> None:
        service.code()
        sale = service.open("a@school.test")
        offered = fields(staff.get(EDIT))
        assert staff.post(EDIT, data=offered | {"value": "10"}).status_code == 303
        assert service.get(f"/v1/checkouts/{sale['id']}")["amount"] == 1000
        simulator.pay(sale["session_id"])
        assert service.get("/v1/codes/NORTH-26/usage")["completed"] == 1

    def test_a_period_that_has_begun_keeps_its_cap(self, staff: httpx.Client, service: Service) -> None:
        service.code(cap=2)
        service.open("a@school.test")
        assert staff.post(EDIT, data=fields(staff.get(EDIT)) | {"cap": "9"}).status_code == 303
        assert service.get("/v1/codes/NORTH-26/usage")["cap"] == 2

    def test_two_people_do_not_overwrite_each_other_unseen(self, staff: httpx.Client, service: Service) -> None:
        """Whoever saves last is shown what the other did, keeps what they typed, and may save it again."""
        service.code(cap=2)
        mine, theirs = fields(staff.get(EDIT)), fields(staff.get(EDIT))
        assert staff.post(EDIT, data=theirs | {"cap": "7"}).status_code == 303
        said = staff.post(EDIT, data=mine | {"value": "40"})
        assert said.status_code == 409
        assert "Somebody changed this code while you did" in said.text
        assert "Places in a new period: it is 7 now, and you typed 2" in text_of(said)
        assert "Of: it is 50 now, and you typed 40" in text_of(said)
        assert service.get("/v1/codes/NORTH-26")["cap"] == 7
        again = fields(said)
        assert (again["cap"], again["value"]) == ("2", "40")
        assert staff.post(EDIT, data=again).status_code == 303
        now = service.get("/v1/codes/NORTH-26")
        assert (now["cap"], now["discount"]) == (2, {"percent": 40})

    def test_a_third_persons_change_is_seen_too(self, staff: httpx.Client, service: Service) -> None:
        service.code(cap=2)
        mine = fields(staff.get(EDIT))
        staff.post(EDIT, data=fields(staff.get(EDIT)) | {"cap": "7"})
        said = staff.post(EDIT, data=mine | {"value": "40"})
        staff.post(EDIT, data=fields(staff.get(EDIT)) | {"cap": "8"})
        assert staff.post(EDIT, data=fields(said)).status_code == 409
        assert service.get("/v1/codes/NORTH-26")["cap"] == 8

    def test_a_paused_code_stays_paused(self, staff: httpx.Client, service: Service) -> None:
        service.code()
        staff.post("/admin/codes/n0rth26/pause")
        assert staff.post(EDIT, data=fields(staff.get(EDIT)) | {"value": "10"}).status_code == 303
        assert service.get("/v1/codes/NORTH-26")["paused"] is True

    @pytest.mark.parametrize("version", ["", "x", "0", "-1", "9" * 30])
    def test_no_version_changes_nothing(self, staff: httpx.Client, service: Service, version: str) -> None:
        service.code()
        said = staff.post(EDIT, data=fields(staff.get(EDIT)) | {"value": "10", "version": version})
        assert said.status_code in (409, 422)
        assert service.get("/v1/codes/NORTH-26")["discount"] == {"percent": 50}


class TestTheCap:
    def test_raised_with_a_note(self, staff: httpx.Client, signed: SignIn, service: Service) -> None:
        """The note is shown with who and what, on both pages."""
        service.code(cap=2)
        period = service.get("/v1/codes/NORTH-26")["period"]
        typed = {"period": period, "was": "2", "cap": "1,000", "note": "Asked for <by> Ada"}
        said = staff.post(CAP, data=typed)
        assert (said.status_code, said.headers["location"]) == (
            303, f"/admin/codes/n0rth26?period={period}&told=cap-set"
        )  # fmt: skip
        for page in (said.headers["location"], f"{CAP}?period={period}"):
            shown = text_of(staff.get(page))
            assert "From 2 to 1,000, by staff@seller.test" in shown
            assert "Asked for <by> Ada" in shown
        assert service.get("/v1/codes/NORTH-26/usage")["cap"] == 1000

    def test_below_what_is_used_only_by_who_knows(
        self, staff: httpx.Client, service: Service, simulator: Running
    ) -> None:
        service.code(cap=5)
        for name in "ab":
            simulator.pay(service.open(f"{name}@school.test")["session_id"])
        service.open("c@school.test")
        period = service.get("/v1/codes/NORTH-26")["period"]
        typed = {"period": period, "was": "5", "cap": "1", "note": "Too many"}
        said = staff.post(CAP, data=typed)
        assert said.status_code == 409
        assert "3 places are in use" in error_of(said, "cap")
        assert "I know that 3 are in use" in text_of(said)
        assert ('value="1"' in said.text, "Too many" in said.text) == (True, True)
        assert service.get("/v1/codes/NORTH-26/usage")["cap"] == 5
        # What is known must be what is: one more came meanwhile, and the tick does not speak for it.
        service.open("d@school.test")
        said = staff.post(CAP, data=typed | {"known": "3"})
        assert (said.status_code, "4 places are now in use" in error_of(said, "cap")) == (409, True)
        assert staff.post(CAP, data=typed | {"known": "4"}).status_code == 303
        usage = service.get("/v1/codes/NORTH-26/usage")
        assert (usage["cap"], usage["completed"], usage["held"]) == (1, 2, 2)
        service.open("e@school.test", status=409)

    def test_to_what_is_used_needs_no_tick(self, staff: httpx.Client, service: Service) -> None:
        service.code(cap=5)
        service.open("a@school.test")
        period = service.get("/v1/codes/NORTH-26")["period"]
        assert staff.post(CAP, data={"period": period, "was": "5", "cap": "1"}).status_code == 303

    def test_none(self, staff: httpx.Client, service: Service) -> None:
        service.code(cap=1)
        period = service.get("/v1/codes/NORTH-26")["period"]
        typed = {"period": period, "was": "1", "cap": "", "uncapped": "yes"}
        assert staff.post(CAP, data=typed).status_code == 303
        assert service.get("/v1/codes/NORTH-26/usage")["cap"] is None
        assert " checked" in staff.get(f"{CAP}?period={period}").text

    @pytest.mark.parametrize(
        "typed", [{"cap": "x"}, {"cap": ""}, {"cap": "1.5"}, {"cap": "50", "uncapped": "yes"}, {"note": "x" * 3000}]
    )
    def test_bad_input(self, staff: httpx.Client, service: Service, typed: dict[str, str]) -> None:
        service.code(cap=2)
        period = service.get("/v1/codes/NORTH-26")["period"]
        said = staff.post(CAP, data={"period": period, "was": "2", "cap": "3", "note": "mine"} | typed)
        assert said.status_code == 422
        assert error_of(said, next(iter(typed)))
        assert service.get("/v1/codes/NORTH-26/usage")["cap"] == 2

    def test_of_no_period(self, staff: httpx.Client, service: Service) -> None:
        service.code()
        for wrong in ("2026", "x", "2026-27'--"):
            assert staff.post(CAP, data={"period": wrong, "cap": "3", "note": ""}).status_code == 422
            assert staff.get(CAP, params={"period": wrong}).status_code == 422

    def test_two_people_do_not_overwrite_each_other_unseen(
        self, staff: httpx.Client, signed: SignIn, service: Service
    ) -> None:
        """Whoever is second is told what it is and by whom, keeps what they typed, and may set it again."""
        service.code(cap=2)
        period = service.get("/v1/codes/NORTH-26")["period"]
        mine, theirs = (fields(staff.get(f"{CAP}?period={period}")) for _ in range(2))
        assert signed(Role.OWNER).post(CAP, data=theirs | {"cap": "7"}).status_code == 303
        said = staff.post(CAP, data=mine | {"cap": "3", "note": "Ada asked"})
        assert said.status_code == 409
        assert "owner@seller.test changed this cap while you did. It is 7 by now." in text_of(said)
        assert service.get("/v1/codes/NORTH-26/usage")["cap"] == 7
        again = fields(said)
        assert (again["cap"], "Ada asked" in said.text) == ("3", True)
        assert staff.post(CAP, data=again).status_code == 303
        assert service.get("/v1/codes/NORTH-26/usage")["cap"] == 3

    def test_what_no_form_of_ours_showed_is_shown_first(self, staff: httpx.Client, service: Service) -> None:
        service.code(cap=2)
        period = service.get("/v1/codes/NORTH-26")["period"]
        for was in ("", "3", "none", "-2", "2.0", "9" * 30):
            said = staff.post(CAP, data={"period": period, "was": was, "cap": "9"})
            assert (said.status_code, fields(said)["was"], fields(said)["cap"]) == (409, "2", "9")
        assert service.get("/v1/codes/NORTH-26/usage")["cap"] == 2

    def test_a_cap_and_none_are_told_apart(self, staff: httpx.Client, service: Service) -> None:
        service.code(cap=None)
        offered = fields(staff.get(CAP))
        service.client.put(f"/v1/codes/NORTH-26/allocations/{offered['period']}", json={"cap": 0})
        said = staff.post(CAP, data=offered)
        assert (said.status_code, "It is 0 by now" in text_of(said)) == (409, True)

    def test_a_refusal_prepares_no_period(self, staff: httpx.Client, service: Service) -> None:
        """The code was changed meanwhile, by somebody who is named; its new cap still holds for the period."""
        service.code(cap=2)
        offered = fields(staff.get(f"{CAP}?period=2031-32"))
        assert staff.post(EDIT, data=fields(staff.get(EDIT)) | {"cap": "9"}).status_code == 303
        said = staff.post(CAP, data=offered | {"cap": "4"})
        assert (said.status_code, "staff@seller.test changed this cap" in text_of(said)) == (409, True)
        assert service.get("/v1/codes/NORTH-26/allocations")["data"] == []
        assert staff.post(CAP, data=fields(said)).status_code == 303

    def test_who_comes_while_it_is_set_is_counted(
        self, staff: httpx.Client, service: Service, database: str, connection: psycopg.Connection[Any]
    ) -> None:
        """What is confirmed is compared with what is in use under the lock, and not before it."""
        service.code(cap=5)
        service.open("a@school.test")
        period = service.get("/v1/codes/NORTH-26")["period"]
        typed = {"period": period, "was": "5", "cap": "0", "known": "1"}
        waits = "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"
        with psycopg.connect(database) as other:
            other.execute("SELECT FROM counterfoil.allocation FOR UPDATE")
            with beside(lambda: staff.post(CAP, data=typed)) as answer:
                until(lambda: connection.execute(waits, (other.info.backend_pid,)).fetchone() == (1,))
                other.execute("UPDATE counterfoil.allocation SET used = used + 1")
                other.commit()
                said = answer.result(20)
        assert (said.status_code, "2 places are now in use" in error_of(said, "cap")) == (409, True)
        assert service.get("/v1/codes/NORTH-26/usage")["cap"] == 5

    def test_a_note_is_of_its_change(self, staff: httpx.Client, service: Service) -> None:
        """Whoever gives none says nothing, neither in the log nor on the page."""
        service.code(cap=2)
        period = service.get("/v1/codes/NORTH-26")["period"]
        for was, cap, note in (("2", "3", "Ada asked"), ("3", "4", ""), ("4", "4", "Ada asked")):
            assert staff.post(CAP, data={"period": period, "was": was, "cap": cap, "note": note}).status_code == 303
        third, second, first = service.get("/v1/audit", action="cap.set")["data"]
        assert [one["after"]["note"] for one in (first, second, third)] == ["Ada asked", None, "Ada asked"]
        shown = text_of(staff.get(f"{CAP}?period={period}"))
        assert shown.count("Ada asked") == 2
        service.client.put(f"/v1/codes/NORTH-26/allocations/{period}", json={"cap": 4})
        assert service.get("/v1/codes/NORTH-26/usage")["note"] is None
