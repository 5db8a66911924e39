"""The institution's people: inviting, taking out, their addresses, their links, and what the audit log is told."""

from typing import Any

import httpx
import psycopg
import pytest
from tests.conftest import Clock
from tests.support.admin import SignIn
from tests.support.institutions import enter, is_in, link
from tests.support.races import until
from tests.support.serving import Service

from counterfoil import mail, portal
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service.roles import Role


def northfold(host: Psycopg) -> int:
    row = host._source.execute("SELECT id FROM counterfoil.institution WHERE slug = 'northfold'").fetchone()
    return int(row[0])


def mailed(host: Psycopg, kind: str) -> list[mail.Mail]:
    """The newest first."""
    return [one for one in host.run(mail.mails()) if one.kind == kind]


def known(host: Psycopg, email: str) -> bool:
    """Whether an address signs somebody in."""
    return bool(host.run(portal.members_of(email=email)))


def say_address(browser: httpx.Client, email: str, name: str = "Cy") -> httpx.Response:
    return browser.post("/portal/people/me", data={"name": name, "email": email})


class TestPeople:
    def test_a_colleague_is_invited_joins_and_removes(self, north: httpx.Client, visitors: Any, host: Psycopg) -> None:
        assert north.post("/portal/people", data={"email": "Ben@northfold.example", "name": "Ben"}).status_code == 303
        [invitation] = [one for one in host.run(mail.mails()) if one.recipient == "Ben@northfold.example"]
        assert "Ada invites you" in invitation.body
        ben = enter(visitors(), invitation.link or "")
        people = host.run(portal.people(institution=northfold(host)))
        assert [one.name for one in people if one.joined_at] == ["Ada", "Ben"]
        assert ben.post(f"/portal/people/{people[0].id}/remove").status_code == 303
        assert (is_in(north), is_in(ben)) == (False, True)
        said = ben.post(f"/portal/people/{people[1].id}/remove")
        assert (said.status_code, "cannot take yourself out" in said.text) == (409, True)

    def test_who_was_removed_gets_no_link(self, north: httpx.Client, visitors: Any, host: Psycopg) -> None:
        [ada] = host.run(portal.people(institution=northfold(host)))
        host.run(portal.remove(institution=northfold(host), member=ada.id))
        assert host.run(portal.members_of(email="ada@northfold.example")) == []

    def test_who_is_there_already_is_not_invited(self, north: httpx.Client) -> None:
        said = north.post("/portal/people", data={"email": "ADA@northfold.example"})
        assert (said.status_code, "ADA@northfold.example" in said.text) == (409, True)

    def test_there_is_a_most(self, north: httpx.Client, host: Psycopg) -> None:
        statuses = [
            north.post("/portal/people", data={"email": f"{number}@northfold.example"}).status_code
            for number in range(portal.MOST_PEOPLE)
        ]
        assert statuses == [303] * (portal.MOST_PEOPLE - 1) + [409]


class TestAnAddress:
    @pytest.fixture
    def cy(self, schools: Service, visitors: Any) -> httpx.Client:
        """Whoever came by a link that was handed on, and has no address."""
        return enter(visitors(), link(schools)["url"])

    def test_it_is_nobodys_until_it_is_proved(self, cy: httpx.Client, visitors: Any, host: Psycopg) -> None:
        """By whoever reads its mail, in whatever browser: by a button, once."""
        assert "You have no address here yet" in cy.get("/portal").text
        assert say_address(cy, "cy@north.example").status_code == 303
        assert "A link was mailed to cy@north.example" in cy.get("/portal/people").text
        assert not known(host, "cy@north.example")
        [proof] = mailed(host, "address")
        assert proof.recipient == "cy@north.example"
        reader = visitors()
        for _ in range(2):
            said = reader.get(proof.link or "")
            assert (said.status_code, "cy@north.example" in said.text) == (200, True)
        assert not known(host, "cy@north.example")
        assert reader.post(proof.link or "", headers={"Origin": "https://evil.test"}).status_code == 403
        assert "Your address is saved" in reader.post(proof.link or "").text
        assert known(host, "CY@north.example")
        assert "You have no address" not in cy.get("/portal").text
        assert not is_in(reader)
        assert reader.post(proof.link or "").status_code == 410

    def test_it_opens_nothing(self, cy: httpx.Client, visitors: Any, host: Psycopg) -> None:
        """A link that proves an address is no link that signs in."""
        say_address(cy, "cy@north.example")
        token = (mailed(host, "address")[0].link or "").rpartition("/")[2]
        assert visitors().post(f"/portal/links/{token}").status_code == 410

    def test_a_quarter_of_an_hour_and_only_the_newest(
        self, cy: httpx.Client, visitors: Any, host: Psycopg, clock: Clock
    ) -> None:
        for email in ("old@north.example", "new@north.example"):
            say_address(cy, email)
        newest, older = mailed(host, "address")
        assert visitors().post(older.link or "").status_code == 410
        clock.advance(minutes=16)
        assert visitors().post(newest.link or "").status_code == 410
        assert not known(host, "old@north.example")
        assert not known(host, "new@north.example")

    def test_only_its_digest_is_stored(
        self, cy: httpx.Client, host: Psycopg, connection: psycopg.Connection[Any]
    ) -> None:
        say_address(cy, "cy@north.example")
        token = (mailed(host, "address")[0].link or "").rpartition("/")[2]
        assert len(token) == 43
        for table in ("portal_address", "audit"):
            for row in connection.execute(f"SELECT t::text FROM counterfoil.{table} AS t".encode()).fetchall():
                assert token not in row[0]

    def test_the_old_one_works_until_then_and_is_told(self, north: httpx.Client, visitors: Any, host: Psycopg) -> None:
        """And what is on its way to the old one opens nothing any more."""
        assert say_address(north, "ada@new.example", "Ada").status_code == 303
        assert known(host, "ada@northfold.example")
        visitors().post("/portal/sign-in", data={"email": "ada@northfold.example"})
        until(lambda: len(mailed(host, "sign_in")) == 1)
        assert visitors().post(mailed(host, "address")[0].link or "").status_code == 200
        assert (known(host, "ada@northfold.example"), known(host, "ada@new.example")) == (False, True)
        [told] = mailed(host, "address_changed")
        assert (told.recipient, "ada@new.example" in told.body) == ("ada@northfold.example", True)
        assert visitors().post(mailed(host, "sign_in")[0].link or "").status_code == 410
        assert is_in(north)

    def test_a_colleagues_is_refused(self, north: httpx.Client, cy: httpx.Client, visitors: Any, host: Psycopg) -> None:
        """When it is typed; and when it is proved, if it became a colleague's since."""
        said = say_address(cy, "ADA@northfold.example")
        assert (said.status_code, "is a colleague&#39;s" in said.text, "ADA@northfold.example" in said.text) == (
            409, True, True,
        )  # fmt: skip
        say_address(cy, "ben@northfold.example")
        north.post("/portal/people", data={"email": "ben@northfold.example"})
        said = visitors().post(mailed(host, "address")[0].link or "")
        assert (said.status_code, "a colleague" in said.text) == (410, True)
        people = host.run(portal.people(institution=northfold(host)))
        assert [one.email for one in people] == ["ada@northfold.example", None, "ben@northfold.example"]

    def test_whoever_is_taken_out_proves_nothing(
        self, north: httpx.Client, cy: httpx.Client, visitors: Any, host: Psycopg
    ) -> None:
        say_address(cy, "cy@north.example")
        cys = host.run(portal.people(institution=northfold(host)))[1]
        north.post(f"/portal/people/{cys.id}/remove")
        assert visitors().post(mailed(host, "address")[0].link or "").status_code == 410

    def test_what_is_no_address_is_said_and_kept(self, cy: httpx.Client) -> None:
        said = say_address(cy, "x@", "Cyan")
        assert (said.status_code, 'value="x@"' in said.text, 'value="Cyan"' in said.text) == (422, True, True)

    @pytest.mark.parametrize("token", ["x", "y" * 43])
    def test_what_nobody_made_proves_nothing(self, schools: Service, visitors: Any, token: str) -> None:
        for method in ("GET", "POST"):
            assert visitors().request(method, f"/portal/addresses/{token}").status_code == 410


class TestHowOften:
    def test_inviting_and_taking_out_has_an_end(self, north: httpx.Client, host: Psycopg, clock: Clock) -> None:
        """Of one institution's people, in a day: whomever they write to. What was not sent does not count."""
        for number in range(20):
            email = f"{number}@elsewhere.example"
            assert north.post("/portal/people", data={"email": "ada@northfold.example"}).status_code == 409
            assert north.post("/portal/people", data={"email": email}).status_code == 303
            [made] = [one for one in host.run(portal.people(institution=northfold(host))) if one.email == email]
            assert north.post(f"/portal/people/{made.id}/remove").status_code == 303
        said = north.post("/portal/people", data={"email": "one@more.example"})
        assert (said.status_code, "one@more.example" in said.text) == (409, True)
        assert say_address(north, "one@more.example").status_code == 409
        assert len(mailed(host, "invitation")) == 21
        clock.advance(days=1, minutes=1)
        assert north.post("/portal/people", data={"email": "one@more.example"}).status_code == 303

    def test_one_address_is_written_to_five_times(self, schools: Service, host: Psycopg, clock: Clock) -> None:
        """By one institution in a day, also if it is taken out in between."""
        for _ in range(5):
            link(schools, email="eve@elsewhere.example")
            [eve] = host.run(portal.people(institution=northfold(host)))
            host.run(portal.remove(institution=northfold(host), member=eve.id))
        body = {"institution": "northfold", "email": "Eve@elsewhere.example"}
        schools.post("/v1/portal-links", body, status=429)
        clock.advance(days=1, minutes=1)
        schools.post("/v1/portal-links", body, status=201)

    def test_through_several_institutions_ten_times(self, schools: Service, host: Psycopg, visitors: Any) -> None:
        """By invitations, and by those who say that it is theirs."""
        for _ in range(4):
            link(schools, email="eve@elsewhere.example")
            link(schools, "southfold", email="eve@elsewhere.example")
        schools.post("/v1/institutions", {"name": "Eastfold", "time_zone": "Europe/London"}, status=201)
        for _ in range(2):
            link(schools, "eastfold", email="eve@elsewhere.example")
        schools.post("/v1/portal-links", {"institution": "eastfold", "email": "eve@elsewhere.example"}, status=429)
        schools.post("/v1/portal-links", {"institution": "eastfold", "email": "adam@elsewhere.example"}, status=201)
        schools.post("/v1/institutions", {"name": "Westfold", "time_zone": "Europe/London"}, status=201)
        said = say_address(enter(visitors(), link(schools, "westfold")["url"]), "eve@elsewhere.example")
        assert (said.status_code, "too often" in said.text) == (409, True)


class TestLinksThatAreOut:
    @pytest.fixture
    def out(self, north: httpx.Client, visitors: Any, host: Psycopg) -> str:
        """A sign-in link of Ada's."""
        visitors().post("/portal/sign-in", data={"email": "ada@northfold.example"})
        until(lambda: len(mailed(host, "sign_in")) == 1)
        return mailed(host, "sign_in")[0].link or ""

    def number(self, host: Psycopg) -> int:
        [ada, *_] = host.run(portal.people(institution=northfold(host)))
        return ada.links[0].id

    def test_ones_own_is_called_off(self, out: str, north: httpx.Client, visitors: Any, host: Psycopg) -> None:
        path = f"/portal/people/links/{self.number(host)}/revoke"
        assert path in north.get("/portal/people").text
        assert north.post(path).status_code == 303
        assert visitors().post(out).status_code == 410
        assert north.post(path).status_code == 404

    def test_a_colleagues_and_anothers_are_not(
        self, out: str, south: httpx.Client, schools: Service, visitors: Any, host: Psycopg
    ) -> None:
        path = f"/portal/people/links/{self.number(host)}/revoke"
        ben = enter(visitors(), link(schools, email="ben@northfold.example")["url"])
        assert path not in ben.get("/portal/people").text
        assert [one.post(path).status_code for one in (ben, south)] == [404, 404]
        enter(visitors(), out)

    def test_the_seller_calls_it_off(self, out: str, signed: SignIn, visitors: Any, host: Psycopg) -> None:
        staff, at = signed(Role.STAFF), "/institutions/{}/people/links/{}/revoke"
        number = self.number(host)
        assert at.format("northfold", number) in staff.get("/admin/institutions/northfold/people").text
        assert staff.post("/admin" + at.format("southfold", number)).status_code == 404
        assert staff.post("/admin" + at.format("northfold", number)).status_code == 303
        assert visitors().post(out).status_code == 410

    @pytest.mark.parametrize("by", ["themselves", "the seller"])
    def test_signed_out_everywhere(
        self, out: str, north: httpx.Client, signed: SignIn, visitors: Any, host: Psycopg, by: str
    ) -> None:
        """The link that is out begins no new session either."""
        if by == "themselves":
            north.post("/portal/sign-out", data={"everywhere": "yes"})
        else:
            staff, [ada] = signed(Role.STAFF), host.run(portal.people(institution=northfold(host)))
            at = "/admin/institutions/{}/people/{}/sign-out"
            assert staff.post(at.format("southfold", ada.id)).status_code == 404
            assert is_in(north)
            assert staff.post(at.format("northfold", ada.id)).status_code == 303
        assert not is_in(north)
        assert visitors().post(out).status_code == 410
        assert known(host, "ada@northfold.example")


class TestTheAuditLog:
    def told(self, service: Service) -> list[tuple[str, str, str]]:
        """The oldest first: by whom, what, of whom."""
        return [
            (one["actor"]["name"], one["action"], ((one["after"] or one["before"]) or {}).get("email"))
            for one in reversed(service.get("/v1/audit", limit=100, subject="northfold")["data"])
            if one["action"].startswith("member.")
        ]

    def test_what_is_done_with_people(
        self, schools: Service, visitors: Any, signed: SignIn, host: Psycopg, connection: psycopg.Connection[Any]
    ) -> None:
        """By the API, the seller's page and the school's own; each once, and no link with it."""
        first = link(schools, email="ada@north.example", name="Ada")
        ada = enter(visitors(), first["url"])
        ada.post("/portal/people", data={"email": "ben@north.example"})
        ben = host.run(portal.people(institution=northfold(host)))[1]
        staff = signed(Role.STAFF)
        staff.post(f"/admin/institutions/northfold/people/links/{ben.link}/revoke")
        ada.post(f"/portal/people/{ben.id}/remove")
        say_address(ada, "ada@new.example", "Ada")
        proof = mailed(host, "address")[0].link or ""
        visitors().post(proof)
        visitors().post("/portal/sign-in", data={"email": "ada@new.example"})
        until(lambda: len(mailed(host, "sign_in")) == 1)
        again = enter(visitors(), mailed(host, "sign_in")[0].link or "")
        again.post("/portal/sign-out", data={"everywhere": "yes"})
        seller = self.told(schools)[3][0]
        assert self.told(schools) == [
            ("the admin key", "member.invited", "ada@north.example"),
            ("Ada", "member.joined", "ada@north.example"),
            ("Ada", "member.invited", "ben@north.example"),
            (seller, "member.link_called_off", "ben@north.example"),
            ("Ada", "member.removed", "ben@north.example"),
            ("Ada", "member.changed", "ada@new.example"),
            ("Ada", "member.signed_in", "ada@new.example"),
            ("Ada", "member.signed_out", "ada@new.example"),
        ]
        assert seller not in ("Ada", "the admin key")
        kinds = {one["action"]: one["actor"]["kind"] for one in schools.get("/v1/audit", limit=100)["data"]}
        assert (kinds["member.joined"], kinds["member.link_called_off"]) == ("member", "account")
        page = staff.get("/admin/audit?subject=northfold").text
        assert "Taken out of the institution&#39;s page" in page
        everything = str(connection.execute("SELECT t::text FROM counterfoil.audit AS t").fetchall())
        for url in (first["url"], proof):
            assert url.rpartition("/")[2] not in everything

    def test_what_does_nothing_is_not_told(self, schools: Service, visitors: Any, host: Psycopg) -> None:
        made = link(schools, email="ada@north.example")
        enter(visitors(), made["url"])
        before = self.told(schools)
        visitors().post(made["url"])
        schools.client.delete(f"/v1/portal-links/{made['id']}")
        host.run(portal.remove(institution=northfold(host), member=0))
        assert self.told(schools) == before
