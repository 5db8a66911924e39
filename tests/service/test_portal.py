"""The institution's own pages: who gets in, what is shown, and that it is never another institution's."""

import csv
import io
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import psycopg
import pytest
from tests.conftest import Clock
from tests.support.admin import text_of
from tests.support.institutions import enter, is_in, link
from tests.support.races import until
from tests.support.route_table import application, methods_of, routes_of
from tests.support.serving import ADMIN_KEY, Service, serving

from counterfoil import attention, mail, portal
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service.pages.portal.door import PortalRoute
from counterfoil.simulator import Running

#: What is behind the door of an institution's pages, from the application's own routes: test_rules.py has their list.
BEHIND = [
    (method, route.path)
    for route in routes_of(application())
    if isinstance(route, PortalRoute)
    for method in methods_of(route)
]


class TestLinks:
    def test_looking_does_not_use_it(self, schools: Service, visitors: Any) -> None:
        """A mail scanner looks, and looks again; then the person presses the button."""
        url = link(schools)["url"]
        for _ in range(3):
            said = visitors().get(url)
            assert (said.status_code, "Open the page" in said.text) == (200, True)
            assert "set-cookie" not in said.headers
            assert visitors().head(url).status_code == 405
        assert is_in(enter(visitors(), url))

    def test_it_opens_once(self, schools: Service, visitors: Any) -> None:
        url = link(schools)["url"]
        enter(visitors(), url)
        late = visitors()
        for said in (late.post(url), late.get(url)):
            assert (said.status_code, "used already" in said.text) == (410, True)
        assert not is_in(late)

    def test_of_many_at_once_one_gets_in(self, schools: Service, visitors: Any) -> None:
        url = link(schools)["url"]
        several = [visitors() for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            statuses = list(pool.map(lambda one: one.post(url).status_code, several))
        assert sorted(statuses) == [303] + [410] * 7

    def test_an_invitation_is_good_for_seven_days(self, schools: Service, visitors: Any, clock: Clock) -> None:
        first, second = link(schools)["url"], link(schools)["url"]
        clock.advance(days=6, hours=23)
        enter(visitors(), first)
        clock.advance(hours=2)
        assert visitors().post(second).status_code == 410

    def test_only_a_digest_is_stored(
        self, schools: Service, visitors: Any, connection: psycopg.Connection[Any]
    ) -> None:
        url = link(schools)["url"]
        token = url.rpartition("/")[2]
        assert re.fullmatch(r"[\w-]{43}", token)
        browser = enter(visitors(), url)
        session = browser.cookies["counterfoil_portal"]
        for table in ("portal_link", "portal_session", "mail", "portal_member"):
            for row in connection.execute(f"SELECT t::text FROM counterfoil.{table} AS t".encode()).fetchall():
                assert token not in row[0]
                assert session not in row[0]

    def test_the_cookie(self, schools: Service, visitors: Any) -> None:
        cookie = visitors().post(link(schools)["url"]).headers["set-cookie"]
        for part in ("HttpOnly", "SameSite=lax", "Path=/portal"):
            assert part in cookie

    def test_it_is_revoked(self, schools: Service, visitors: Any) -> None:
        made = link(schools)
        assert schools.client.delete(f"/v1/portal-links/{made['id']}").status_code == 204
        assert schools.client.delete(f"/v1/portal-links/{made['id']}").status_code == 404
        assert visitors().post(made["url"]).status_code == 410

    @pytest.mark.parametrize("over", ["called off", "seven days"])
    def test_who_never_joined_gets_in_by_no_other_link(
        self, schools: Service, host: Psycopg, clock: Clock, over: str
    ) -> None:
        """An invitation that is over is over, also for whoever asks for a sign-in link."""
        made = link(schools, email="wrong@elsewhere.example")

        assert len(host.run(portal.members_of(email="wrong@elsewhere.example"))) == 1
        if over == "called off":
            assert schools.client.delete(f"/v1/portal-links/{made['id']}").status_code == 204
        else:
            clock.advance(days=7, minutes=1)
        assert host.run(portal.members_of(email="wrong@elsewhere.example")) == []

    def test_a_newer_invitation_takes_the_place_of_an_older_one(self, schools: Service, visitors: Any) -> None:
        old, new = (link(schools, email="ada@northfold.example")["url"] for _ in range(2))
        assert visitors().post(old).status_code == 410
        enter(visitors(), new)

    def test_a_replay_shows_no_link(self, schools: Service) -> None:
        body = {"institution": "northfold"}
        made = schools.post("/v1/portal-links", body, status=201, **{"Idempotency-Key": "k"})
        again = schools.post("/v1/portal-links", body, status=201, **{"Idempotency-Key": "k"})
        assert again == made | {"url": None}

    def test_another_sites_form_does_nothing(self, schools: Service, visitors: Any) -> None:
        url = link(schools)["url"]
        assert visitors().post(url, headers={"Origin": "https://evil.test"}).status_code == 403
        enter(visitors(), url)

    def test_whom_it_is_for(self, schools: Service) -> None:
        assert schools.post("/v1/portal-links", {"institution": "none"}, status=422)["code"] == "institution-unknown"
        assert schools.post("/v1/portal-links", {"institution": "northfold", "email": "x"}, status=422)


class TestSigningIn:
    def ask(self, browser: httpx.Client, email: str) -> httpx.Response:
        return browser.post("/portal/sign-in", data={"email": email})

    def mailed(self, host: Psycopg) -> list[str]:
        return [one.link or "" for one in host.run(mail.mails()) if one.kind == "sign_in"]

    def test_by_a_mailed_link(self, north: httpx.Client, visitors: Any, host: Psycopg, clock: Clock) -> None:
        """In whatever case the address is typed. It is good for a quarter of an hour."""
        browser = visitors()
        assert self.ask(browser, "ADA@Northfold.example").status_code == 200
        until(lambda: len(self.mailed(host)) == 1)
        enter(browser, self.mailed(host)[0])
        self.ask(browser, "ada@northfold.example")
        until(lambda: len(self.mailed(host)) == 2)
        clock.advance(minutes=16)
        assert visitors().post(self.mailed(host)[0]).status_code == 410

    def test_known_and_unknown_are_answered_alike(self, north: httpx.Client, visitors: Any, host: Psycopg) -> None:
        known, unknown = "ada@northfold.example", "eve@northfold.example"
        first, second = self.ask(visitors(), known), self.ask(visitors(), unknown)
        assert first.status_code == second.status_code == 200
        assert first.text.replace(known, unknown) == second.text
        assert first.headers.keys() == second.headers.keys()
        until(lambda: len(self.mailed(host)) == 1)

    def test_one_member_is_mailed_three_times(self, north: httpx.Client, visitors: Any, host: Psycopg) -> None:
        """In the time that a link is good."""
        for _ in range(5):
            assert self.ask(visitors(), "ada@northfold.example").status_code == 200
        until(lambda: len(self.mailed(host)) == 3)
        assert portal.MOST_SIGN_INS == 3

    def test_one_network_asks_ten_times(self, schools: Service, visitors: Any, clock: Clock, host: Psycopg) -> None:
        """In an hour, by the database, so that several processes count together."""
        for number in range(10):
            assert self.ask(visitors(), f"{number}@northfold.example").status_code == 200
        said = self.ask(visitors(), "typed@northfold.example")
        assert (said.status_code, "typed@northfold.example" in said.text) == (429, True)
        assert 3500 < int(said.headers["retry-after"]) <= 3600
        clock.advance(minutes=61)
        assert self.ask(visitors(), "a@northfold.example").status_code == 200

    def test_what_is_no_address_is_said_and_kept(self, schools: Service, visitors: Any) -> None:
        said = self.ask(visitors(), 'ada@"<b>')
        assert said.status_code == 422
        assert "ada@&#34;&lt;b&gt;" in said.text

    def test_thirty_idle_days(self, north: httpx.Client, clock: Clock) -> None:
        """Counted from when it was used last."""
        clock.advance(days=29)
        assert is_in(north)
        clock.advance(days=29)
        assert is_in(north)
        clock.advance(days=31)
        assert not is_in(north)

    def test_signing_out(self, north: httpx.Client, schools: Service, visitors: Any) -> None:
        other = enter(visitors(), link(schools, email="ada@northfold.example")["url"])
        cookie = dict(north.cookies)
        assert north.post("/portal/sign-out").status_code == 303
        north.cookies.update(cookie)
        assert not is_in(north)
        assert is_in(other)
        third = enter(visitors(), link(schools, email="ada@northfold.example")["url"])
        third.post("/portal/sign-out", data={"everywhere": "yes"})
        assert not is_in(other)


class TestTwoSchools:
    def test_nobody_gets_behind_it_without_a_session(self, schools: Service, visitors: Any) -> None:
        assert ("POST", "/portal/people") in BEHIND
        for method, path in BEHIND:
            said = visitors().request(method, path.replace("{code}", "NORTH-26").replace("{id}", "1"))
            assert (said.status_code, said.headers["location"], said.text) == (303, "/portal", "")

    def test_nothing_of_another_school_is_seen_or_changed(
        self, north: httpx.Client, south: httpx.Client, schools: Service, host: Psycopg,
        connection: psycopg.Connection[Any],
    ) -> None:  # fmt: skip
        """Route by route, with the other's names in it: as if there were nothing."""
        schools.open("student@south.test", "SOUTH-26")
        [theirs] = connection.execute(
            "SELECT id FROM counterfoil.portal_member WHERE email = 'moa@southfold.example'"
        ).fetchall()

        def everything() -> Any:
            return [
                connection.execute(f"SELECT t::text FROM counterfoil.{table} AS t ORDER BY 1".encode()).fetchall()
                for table in ("portal_member", "portal_link", "places_request", "attention", "mail")
            ]

        before = everything()
        for method, path in BEHIND:
            if "{" not in path:
                continue
            data = {"more": "3", "reason": ""} if method == "POST" else None
            filled = path.replace("{code}", "SOUTH-26").replace("{id}", str(theirs[0]))
            said = north.request(method, filled, data=data)
            assert said.status_code == 404, path
            assert "SOUTH" not in said.text
            assert "Southfold" not in said.text
        assert everything() == before
        for path in ("/portal", "/portal/people", "/portal/alerts"):
            assert "Southfold" not in north.get(path).text
            assert "SOUTH-26" not in north.get(path).text
        assert is_in(south)

    def test_anothers_form_does_nothing(self, north: httpx.Client) -> None:
        for path in ("/portal/people", "/portal/alerts", "/portal/sign-out", "/portal/codes/NORTH-26/more"):
            assert north.post(path, headers={"Origin": "https://evil.test"}).status_code == 403
        assert is_in(north)


class TestPlaces:
    def test_in_words(self, north: httpx.Client, schools: Service, simulator: Running) -> None:
        for number in range(3):
            simulator.pay(schools.open(f"{number}@school.test")["session_id"])
        opened = [schools.open(f"{number}@school.test") for number in (7, 8)]
        until(lambda: schools.get("/v1/codes/NORTH-26/usage")["completed"] == 3)
        said = north.get("/portal").text
        assert "3 of 40 places are used, 2 are being paid for, 35 are free." in said
        assert re.search(r"Two students are on the payment page; .* these places come back by \d\d:\d\d", said)
        assert "Good from 1 September" in said
        assert "until the end of 31 August" in said
        assert "school.test" not in said
        assert all(one["session_id"] not in said for one in opened)

    def test_a_year_that_is_over_is_still_there(
        self, north: httpx.Client, schools: Service, simulator: Running, clock: Clock
    ) -> None:
        simulator.pay(schools.open("a@school.test")["session_id"])
        year = schools.get("/v1/codes/NORTH-26")["period"]
        clock.advance(days=29)
        assert is_in(north)
        simulator_year = int(year[:4])
        for _ in range(13):
            clock.advance(days=28)
            assert is_in(north)
        assert "0 of 40 places are used" in north.get("/portal").text
        said = north.get(f"/portal/codes/NORTH-26?period={year}").text
        assert "1 of 40 places are used" in said
        assert "Ask for more places" not in said
        assert str(simulator_year + 1) in schools.get("/v1/codes/NORTH-26")["period"]
        assert north.get("/portal/codes/NORTH-26?period=soon").status_code == 404

    def test_the_table_names_nobody(
        self, north: httpx.Client, schools: Service, simulator: Running, host: Psycopg, visitors: Any
    ) -> None:
        """Unless the seller allows it. Days, no times; no session."""
        simulator.pay(schools.open("a@school.test")["session_id"])
        until(lambda: schools.get("/v1/codes/NORTH-26/usage")["completed"] == 1)
        path = "/portal/codes/NORTH-26/redemptions.csv"
        [row] = csv.DictReader(io.StringIO(north.get(path).text))
        assert list(row) == ["code", "period", "status", "reserved_on", "completed_on", "product"]
        assert (row["status"], row["product"]) == ("completed", "Practice hub")
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", row["completed_on"])
        seller = visitors()
        seller.post("/admin/sign-in", data={"key": ADMIN_KEY})
        assert north.post("/admin/institutions/northfold/people/buyers", data={"on": "yes"}).status_code == 303
        assert "a@school.test" not in north.get(path).text
        seller.post("/admin/institutions/northfold/people/buyers", data={"on": "yes"})
        assert "a@school.test" in north.get(path).text

    def test_the_sheet_has_the_code_and_the_square(self, north: httpx.Client) -> None:
        said = north.get("/portal/codes/north%2026/sheet").text
        assert "NORTH-26" in said
        assert "<svg" in said
        assert "style=" not in said

    def test_what_they_set_is_told_as_theirs(self, north: httpx.Client, schools: Service) -> None:
        north.post("/portal/alerts", data={"on": "yes", "percent": "50", "mail": "yes"})
        newest = schools.get("/v1/audit", limit=1)["data"][0]
        assert (newest["action"], newest["actor"]["kind"], newest["actor"]["name"]) == (
            "institution.changed", "member", "Ada",
        )  # fmt: skip

    def test_a_colleagues_alert_is_not_overwritten_unseen(self, north: httpx.Client) -> None:
        """The form was opened before a colleague set 70 %; then it is seen, and may be changed."""
        form = {"on": "yes", "percent": "50", "mail": "yes", "was": "off 60"}
        north.post("/portal/alerts", data={"on": "yes", "percent": "70", "mail": "yes"})
        said = north.post("/portal/alerts", data=form)
        assert (said.status_code, "it is 70 % now" in said.text, 'value="50"' in said.text) == (409, True, True)
        assert 'value="on 70"' in said.text
        assert north.post("/portal/alerts", data=form | {"was": "on 70"}).status_code == 303
        assert 'value="on 50"' in north.get("/portal/alerts").text

    def test_asking_for_more(self, north: httpx.Client, schools: Service, host: Psycopg, simulator: Running) -> None:
        """The seller is told, and the answer is seen once the cap was raised."""
        period = schools.get("/v1/codes/NORTH-26")["period"]
        said = north.post("/portal/codes/NORTH-26/more", data={"more": "20", "reason": "A new class"})
        assert said.status_code == 303
        [matter] = host.run(attention.matters(kind="more-places-wanted"))
        asked = f"Northfold asks for 20 more places of NORTH-26 in {period}, where the cap is 40."
        assert matter.sentence == f"{asked} Its reason: “A new class”."
        assert "the answer will be seen here" in north.get("/portal").text
        schools.client.put(f"/v1/codes/NORTH-26/allocations/{period}", json={"cap": 60}).raise_for_status()
        assert "You asked for 20 more. There are 60 places now." in north.get("/portal").text
        schools.get("/v1/attention")
        assert host.run(attention.matters(kind="more-places-wanted", resolved=False)) == []

    @pytest.mark.parametrize("more", ["", "0", "-1", "1.5", "ten", "9" * 20, "00000001" + "0" * 20, "²"])
    def test_a_wrong_number_loses_nothing(self, north: httpx.Client, host: Psycopg, more: str) -> None:
        said = north.post("/portal/codes/NORTH-26/more", data={"more": more, "reason": "A new class"})
        assert said.status_code == 422
        assert 'value="A new class"' in said.text
        assert host.run(attention.matters(kind="more-places-wanted")) == []

    def test_the_seller_is_mailed(self, database: str, simulator: Running, schools: Service, host: Psycopg) -> None:
        with serving(database, simulator, COUNTERFOIL_SELLER_MAIL="me@shop.example") as service:
            url = link(service)["url"]
            with httpx.Client(base_url=service.url, trust_env=False) as browser:
                enter(browser, url)
                for number in ("20", "25"):
                    browser.post("/portal/codes/NORTH-26/more", data={"more": number})
        assert [one.subject for one in host.run(mail.mails())] == ["Northfold asks for 20 more places of NORTH-26"]


class TestNamedPeriods:
    def test_its_years_are_its_periods(self, schools: Service, north: httpx.Client, clock: Clock) -> None:
        """Without one nothing is promised; with some, those that had places are listed, the latest first."""
        at = "/v1/codes/NORTH-26"
        schools.client.patch(at, json={"calendar": "custom"})
        assert "Not open yet: its first period was not set." in text_of(north.get("/portal"))
        page = north.get("/portal/codes/NORTH-26")
        assert page.status_code == 200
        assert "Ask for more places" not in page.text
        row = clock.connection.execute("SELECT counterfoil.clock()::date").fetchone()
        assert row
        now = row[0]
        for name, first, last in (("Winter A", -40, -20), ("Autumn B", -5, 40)):
            days = {"starts_on": str(now + timedelta(first)), "ends_on": str(now + timedelta(last))}
            assert schools.client.put(f"{at}/periods/{name}", json=days).status_code == 200
            schools.client.put(f"{at}/allocations/{name}", json={"cap": 7})
        page = north.get("/portal/codes/NORTH-26", params={"period": "Winter A"})
        assert "Your code for Winter A" in text_of(page)
        assert page.text.index("period=Autumn%20B") < page.text.index("period=Winter%20A")
        assert north.get("/portal/codes/NORTH-26", params={"period": "2026"}).status_code == 404
        schools.open("a@school.test")
        table = north.get("/portal/codes/NORTH-26/redemptions.csv", params={"period": "Autumn B"})
        assert "NORTH-26,Autumn B,reserved" in table.text
