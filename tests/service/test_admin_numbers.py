"""The first page, an institution, a code: their numbers, over HTTP."""

from __future__ import annotations

import re

import httpx
from tests.conftest import Clock
from tests.support.admin import SignIn, numbers_of, text_of
from tests.support.serving import Service

from counterfoil import verbs
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service.roles import Role
from counterfoil.simulator import Running


class TestHome:
    def test_nothing_yet(self, staff: httpx.Client, service: Service) -> None:
        said = staff.get("/admin")
        assert said.status_code == 200
        assert "No institution yet" in said.text
        assert 'href="/admin/new-institution"' in said.text

    def test_each_state_is_counted_once(
        self, staff: httpx.Client, service: Service, simulator: Running, clock: Clock
    ) -> None:
        """Completed, held, free: of each code's own period, and summed."""
        service.code("NORTH-26", cap=5)
        service.code("NORTH-27", cap=2)
        paid = service.open("a@school.test")
        simulator.pay(paid["session_id"])
        service.open("b@school.test")
        service.open("c@school.test", "NORTH-27")
        said = staff.get("/admin")
        assert numbers_of(said) == {"Completed": "1", "Pending": "0", "Held": "2", "Free": "4"}
        assert "2 codes, 7 places" in text_of(said)
        assert 'aria-label="1 paid, 0 being paid for, 2 held, 4 free"' in said.text
        # By the clock alone: nobody writes anything when a hold lapses.
        simulator.drop_events(99)
        clock.advance(minutes=41)
        assert numbers_of(staff.get("/admin")) == {"Completed": "1", "Pending": "0", "Held": "0", "Free": "6"}

    def test_one_codes_free_places_do_not_hide_anothers_over(
        self, staff: httpx.Client, service: Service, simulator: Running
    ) -> None:
        service.code("NORTH-26", cap=1)
        service.code("NORTH-27", cap=10)
        simulator.pay(service.open("a@school.test")["session_id"])
        service.client.put("/v1/codes/NORTH-26/allocations/" + period(service), json={"cap": 0, "confirm": True})
        said = numbers_of(staff.get("/admin"))
        assert (said["Over"], said["Free"]) == ("1", "10")

    def test_codes_that_count_together_are_counted_once(
        self, staff: httpx.Client, service: Service, simulator: Running
    ) -> None:
        service.code("NORTH-26", cap=5)
        service.code("NORTH-B", cap=9, counts_with="NORTH-26")
        simulator.pay(service.open("a@school.test", "NORTH-B")["session_id"])
        said = staff.get("/admin")
        assert numbers_of(said) == {"Completed": "1", "Pending": "0", "Held": "0", "Free": "4"}
        assert "1 code, 5 places" in text_of(said)

    def test_no_cap_is_no_zero(self, staff: httpx.Client, service: Service) -> None:
        service.code(cap=None)
        said = staff.get("/admin")
        assert numbers_of(said)["Free"] == "no cap"
        assert "1 code, no cap" in text_of(said)
        service.code("NORTH-27", cap=3)
        said = staff.get("/admin")
        assert numbers_of(said)["Free"] == "3"
        assert "and 1 without a cap" in text_of(said)

    def test_searched_and_sorted_and_paged(self, staff: httpx.Client, service: Service, simulator: Running) -> None:
        service.code(cap=1)
        simulator.pay(service.open("a@school.test")["session_id"])
        for number in range(30):
            service.post("/v1/institutions", {"name": f"School {number:02}", "time_zone": "UTC"}, status=201)
        first = staff.get("/admin")
        assert first.text.index("Northfold") < first.text.index("School 00")
        assert ("School 23" in first.text, "School 24" in first.text) == (True, False)
        assert "Page 1 of 2" in text_of(first)
        second = staff.get("/admin?page=2")
        assert ("School 24" in second.text, "School 29" in second.text, "Northfold" in second.text) == (
            True, True, False
        )  # fmt: skip
        # The sums are of all that fit, on each page.
        assert numbers_of(second)["Completed"] == "1"
        assert "31 institutions" in text_of(second)
        for found in ("orthf", "NORTHFOLD", "north 26", "northfold"):
            said = staff.get("/admin", params={"q": found})
            assert ("Northfold" in said.text, "School 00" in said.text) == (True, False), found
        assert "No institution fits" in staff.get("/admin?q=%3Cb%3E").text
        assert "There are not so many pages" in staff.get("/admin?page=9").text
        for odd in ("0", "-1", "x", "9" * 5000, "²"):
            assert staff.get("/admin", params={"page": odd}).status_code == 200

    def test_the_fullest_first(self, staff: httpx.Client, service: Service) -> None:
        service.code("A-1", cap=10)
        service.post("/v1/institutions", {"name": "Zetland", "time_zone": "UTC"}, status=201)
        service.code("Z-1", cap=2, institution="zetland")
        service.open("a@school.test", "Z-1")
        by_name, fullest = staff.get("/admin").text, staff.get("/admin?sort=fullest").text
        assert by_name.index("Northfold") < by_name.index("Zetland")
        assert fullest.index("Zetland") < fullest.index("Northfold")

    def test_what_needs_attention_in_a_line(self, staff: httpx.Client, host: Psycopg) -> None:
        assert "attention." not in staff.get("/admin").text
        host.run(verbs.raise_attention(kind="drift", subject="cs_<1>", detail={}))
        said = staff.get("/admin").text
        assert "1 matter needs attention" in text_of(said)
        assert "cs_&lt;1&gt;" in said
        host.run(verbs.raise_attention(kind="drift", subject="cs_2", detail={}))
        assert "2 matters need attention" in text_of(staff.get("/admin"))


def period(service: Service, code: str = "NORTH-26") -> str:
    """The period that is now."""
    return str(service.get(f"/v1/codes/{code}")["period"])


def following(key: str) -> str:
    """The academic year after this one."""
    year = int(key[:4]) + 1
    return f"{year}-{(year + 1) % 100:02}"


class TestAnInstitution:
    def test_its_codes_and_its_years(self, staff: httpx.Client, service: Service, simulator: Running) -> None:
        service.code(cap=3)
        simulator.pay(service.open("a@school.test")["session_id"])
        now = period(service)
        service.client.put(f"/v1/codes/NORTH-26/allocations/{following(now)}", json={"cap": 40})
        said = staff.get("/admin/institutions/northfold")
        assert said.status_code == 200
        assert "start on 1 September, in the time zone Europe/London" in text_of(said)
        assert 'href="/admin/codes/n0rth26"' in said.text
        assert f"50 % off · {now} · 3 places" in text_of(said)
        rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", said.text, re.DOTALL)
        assert [text_of(row).split() for row in rows] == [
            [following(now), "1", "40", "0", "0", "0", "40", "0"], [now, "1", "3", "1", "0", "0", "2", "0"]
        ]  # fmt: skip

    def test_there_is_none(self, staff: httpx.Client) -> None:
        assert staff.get("/admin/institutions/nobody").status_code == 404

    def test_codes_page_by_page(self, staff: httpx.Client, service: Service) -> None:
        for number in range(26):
            service.code(f"CODE-{number:02}")
        first = staff.get("/admin/institutions/northfold")
        assert ("CODE-25" in first.text, "CODE-01" in first.text, "CODE-00" in first.text) == (True, True, False)
        older = re.search(r'href="(/admin/institutions/northfold\?after=[^"]+)"', first.text)
        assert older
        assert ("CODE-00" in staff.get(older[1]).text, "CODE-01" in staff.get(older[1]).text) == (True, False)
        listed = staff.get("/admin/codes", params={"q": "code 0"}).text
        assert ("CODE-09" in listed, "CODE-10" in listed) == (True, False)
        assert "CODE-25" in staff.get("/admin/codes", params={"q": "northf"}).text
        assert "No code fits" in staff.get("/admin/codes", params={"q": "%"}).text
        assert "CODE-25" in staff.get("/admin/codes").text


class TestACode:
    def test_however_it_is_typed(self, staff: httpx.Client, service: Service) -> None:
        service.code()
        for typed in ("NORTH-26", "n0rth26", "north 26"):
            assert "<h1>NORTH-26" in staff.get(f"/admin/codes/{typed}").text
        assert staff.get("/admin/codes/NOBODYS").status_code == 404
        for wrong in ("2026", "x", "0000-01"):
            assert staff.get(f"/admin/codes/NORTH-26?period={wrong}").status_code == 422

    def test_live_holds_apart_from_paid(
        self, staff: httpx.Client, service: Service, simulator: Running, clock: Clock
    ) -> None:
        """Each with the moment it frees itself, in the institution's zone."""
        service.code(cap=4)
        simulator.pay(service.open("paid@school.test")["session_id"])
        held = service.open("held@school.test")
        said = staff.get("/admin/codes/NORTH-26")
        holds = said.text.partition('id="code-holds"')[2].partition("</section>")[0]
        paid = said.text.partition('id="code-paid"')[2].partition("</section>")[0]
        assert ("held@school.test" in holds, "paid@school.test" in holds) == (True, False)
        assert ("held@school.test" in paid, "paid@school.test" in paid) == (False, True)
        expires = held["redemption"]["expires_at"]
        assert f'datetime="{expires[:19]}+00:00"' in holds
        assert "Times are those of Europe/London" in holds
        assert "Of 4 places, 1 is paid for, 1 is held; 2 are free." in text_of(said)
        assert numbers_of(said) == {"Completed": "1", "Pending": "0", "Held": "1", "Free": "2"}
        simulator.drop_events(99)
        clock.advance(minutes=41)
        said = staff.get("/admin/codes/NORTH-26")
        assert "Nobody is on the payment page" in said.text
        assert "1 hold has lapsed: its place is free" in text_of(said)

    def test_periods_as_tabs(self, staff: httpx.Client, signed: SignIn, service: Service, clock: Clock) -> None:
        service.code(cap=4)
        now = period(service)
        service.open("a@school.test")
        said = staff.get("/admin/codes/NORTH-26")
        assert f"{following(now)} (next)" in said.text
        assert f"{now} (now)" in said.text
        early = staff.get(f"/admin/codes/NORTH-26?period={following(now)}")
        assert numbers_of(early) == {"Completed": "0", "Pending": "0", "Held": "0", "Free": "4"}
        assert "nothing was set for it" in text_of(early)
        service.client.put(f"/v1/codes/NORTH-26/allocations/{following(now)}", json={"cap": 9})
        early = staff.get(f"/admin/codes/NORTH-26?period={following(now)}")
        assert (numbers_of(early)["Free"], "nothing was set for it" in text_of(early)) == ("9", False)
        clock.advance(days=365)
        later = signed(None).get("/admin/codes/NORTH-26")
        assert f"{following(now)} (now)" in later.text
        assert f'period={now}">{now}</a>' in later.text

    def test_other_calendars(self, staff: httpx.Client, service: Service) -> None:
        for calendar in ("month", "calendar_year", "all"):
            service.code(calendar, calendar=calendar)
            said = staff.get(f"/admin/codes/{calendar}")
            assert said.status_code == 200
            assert ("(next)" in said.text) == (calendar != "all")

    def test_a_pool(self, staff: httpx.Client, service: Service) -> None:
        service.code("NORTH-26", cap=5)
        service.code("NORTH-B", cap=9, counts_with="NORTH-26")
        service.open("a@school.test", "NORTH-B")
        for code, other in (("NORTH-26", "NORTH-B"), ("NORTH-B", "NORTH-26")):
            said = staff.get(f"/admin/codes/{code}")
            assert f"Counts together with {other}: these are the numbers of all of them." in text_of(said)
            assert numbers_of(said)["Held"] == "1"
            assert "a@school.test" in said.text

    def test_paused_and_resumed(self, staff: httpx.Client, service: Service) -> None:
        service.code()
        for action, told, paused in (("pause", "code-paused", True), ("resume", "code-resumed", False)):
            said = staff.post(f"/admin/codes/n0rth26/{action}")
            assert (said.status_code, said.headers["location"]) == (303, f"/admin/codes/n0rth26?told={told}")
            shown = staff.get(said.headers["location"]).text
            assert ("Nobody new is let in. Whoever" in shown) == paused
            assert service.get("/v1/codes/NORTH-26")["paused"] is paused
        assert "told" not in staff.get("/admin/codes/n0rth26?told=<b>made up").text.partition("<main")[2]

    def test_who_may_only_look_sees_no_buttons(self, signed: SignIn, service: Service) -> None:
        service.code()
        service.open("a@school.test")
        reader, staff = signed(Role.READ_ONLY), signed(Role.STAFF)
        for page in ("/admin", "/admin/institutions/northfold", "/admin/codes/NORTH-26", "/admin/products"):
            for what in ("/pause", "/edit", "/cap?", "/release", "/new-"):
                assert what not in reader.get(page).text, (page, what)
        shown = staff.get("/admin/codes/NORTH-26").text
        assert all(what in shown for what in ("/pause", "/edit", "/cap?", "/release"))
