"""What institutions are told: each once for a threshold and a cap, and never more than is true."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool
from tests.conftest import Clock
from tests.support.places import Verbs, code, lapse, school
from tests.support.races import until
from tests.support.serving import serving

from counterfoil import calendars, catalogue, mail, notices, portal
from counterfoil.hosts.psycopg import AsyncPsycopg, Psycopg
from counterfoil.model import Shop
from counterfoil.notices import Kind
from counterfoil.periods import Calendar
from counterfoil.service.mailing import Mailer
from counterfoil.service.settings import load
from counterfoil.simulator import Running
from counterfoil.tokens import new_token


class World(Verbs):
    """A school with a code, and what it was told."""

    def told(self) -> list[str]:
        """The kinds, in the order in which they were given."""
        return [str(one.kind) for one in self.all()]

    def all(self) -> list[notices.Notice]:
        found = self.host.run(catalogue.institutions())
        return [one for each in found for one in self.host.run(notices.notices(institution=each.id))][::-1]

    def fill(self, start: int, end: int) -> None:
        for number in range(start, end):
            self.reserve(str(number))

    def cap(self, cap: int | None) -> None:
        of = self.host.run(catalogue.code("NORTH"))
        self.host.run(catalogue.set_cap(code=of, period=of.period, cap=cap, note=None, confirmed=True, shop=self.shop))


@pytest.fixture
def ten(clock: Clock, host: Psycopg, shop: Shop) -> World:
    code(host, cap=10)
    return World(host, shop)


def test_four_fifths_and_then_the_rest_is_held(ten: World) -> None:
    ten.fill(0, 7)
    assert ten.told() == []
    ten.fill(7, 8)
    assert ten.told() == ["threshold"]
    ten.fill(8, 9)
    assert ten.told() == ["threshold"]
    ten.fill(9, 10)
    assert ten.told() == ["threshold", "held"]
    assert ten.all()[0].headline == "80 % of the places of NORTH are taken"


def test_full_once_all_of_them_are_paid_for(ten: World) -> None:
    claims = [ten.reserve(str(number)) for number in range(10)]
    for claim in claims[:9]:
        ten.settle(claim, f"cs_{claim.buyer}", "paid")
    ten.host.run(notices.look())
    assert ten.told() == ["threshold", "held"]
    ten.settle(claims[9], "cs_last", "paid")
    ten.host.run(notices.look())
    ten.host.run(notices.look())
    assert ten.told() == ["threshold", "held", "full"]
    assert (ten.all()[2].usage.completed, ten.all()[2].usage.held) == (10, 0)


def test_of_a_shared_allocation_each_is_told_under_its_own_code(ten: World) -> None:
    """Another institution's code would be as good as its own, and is nobody's to tell."""
    other = school(ten.host, slug="southfold")
    code(ten.host, "SOUTH", cap=None, of=other, counts_with="NORTH")
    ten.fill(0, 8)
    told = ten.host.run(notices.notices(institution=other.id))
    assert [one.headline for one in told] == ["80 % of the places of SOUTH are taken"]
    assert "NORTH" not in str(told)


def test_each_once_for_a_cap(ten: World) -> None:
    """Places that come back and go again are no news; a higher cap that is reached is."""
    claims = [ten.reserve(str(number)) for number in range(10)]
    for claim in claims[5:]:
        ten.release(claim)
    ten.fill(20, 25)
    assert ten.told() == ["threshold", "held"]
    ten.cap(20)
    assert ten.told() == ["threshold", "held"]
    ten.fill(30, 36)
    assert ten.told() == ["threshold", "held", "threshold"]
    ten.fill(36, 40)
    assert ten.told() == ["threshold", "held", "threshold", "held"]


def test_of_several_at_once_the_highest(clock: Clock, host: Psycopg, shop: Shop) -> None:
    code(host, cap=1)
    one = World(host, shop)
    one.reserve("a")
    assert one.told() == ["held"]


def test_a_cap_that_is_lowered_is_reached(ten: World) -> None:
    ten.fill(0, 5)
    ten.cap(6)
    assert ten.told() == ["threshold"]
    ten.cap(5)
    assert ten.told() == ["threshold", "held"]


def test_holds_that_lapsed_do_not_count(ten: World, connection: psycopg.Connection[Any]) -> None:
    """The counter has them in it; what is told is what is true."""
    for number in range(7):
        lapse(connection, ten.reserve(f"gone{number}"))
    ten.fill(0, 3)
    assert ten.told() == []
    ten.fill(3, 8)
    assert ten.told() == ["threshold"]
    assert ten.all()[0].usage.held == 8
    ten.fill(8, 10)
    assert ten.told() == ["threshold", "held"]


@pytest.mark.parametrize("cap", [None, 0])
def test_nothing_is_nearly_full_without_a_cap_that_lets_in(
    clock: Clock, host: Psycopg, shop: Shop, cap: int | None
) -> None:
    code(host, cap=None)
    one = World(host, shop)
    one.fill(0, 3)
    one.cap(cap)
    assert one.told() == []


class TestOwnAlert:
    @pytest.fixture
    def set_to(self, ten: World, connection: psycopg.Connection[Any]) -> Any:
        def set_to(percent: int, *, on: bool = True) -> None:
            connection.execute("UPDATE counterfoil.institution SET alert_on = %s, alert_percent = %s", (on, percent))

        return set_to

    def test_it_is_told_of_beside_the_others(self, ten: World, set_to: Any) -> None:
        set_to(50)
        ten.fill(0, 10)
        assert [(one.kind, one.percent) for one in ten.all()] == [
            (Kind.ALERT, 50), (Kind.THRESHOLD, 80), (Kind.HELD, 100),
        ]  # fmt: skip

    def test_above_four_fifths(self, ten: World, set_to: Any) -> None:
        set_to(90)
        ten.fill(0, 10)
        assert ten.told() == ["threshold", "alert", "held"]

    def test_off(self, ten: World, set_to: Any) -> None:
        set_to(50, on=False)
        ten.fill(0, 7)
        assert ten.told() == []


class TestTheYearsEnd:
    def test_thirty_days_before_once(self, ten: World, clock: Clock) -> None:
        """October it is; the year ends with August."""
        ten.settle(ten.reserve("a"), "cs_a", "paid")
        clock.advance(days=300)
        ten.host.run(notices.look_at_year_ends())
        assert ten.told() == []
        clock.advance(days=8)
        ten.host.run(notices.look_at_year_ends())
        ten.cap(12)
        ten.host.run(notices.look_at_year_ends())
        assert ten.told() == ["year_end"]
        [one] = ten.all()
        assert one.headline == "NORTH: 9 places not used, and the year is about to end"

    def test_a_code_that_nobody_ever_used(self, ten: World, clock: Clock) -> None:
        clock.advance(days=310)
        ten.host.run(notices.look_at_year_ends())
        assert [one.usage.remaining for one in ten.all()] == [10]

    def test_not_if_nothing_is_left_or_nobody_can_use_it(self, clock: Clock, host: Psycopg, shop: Shop) -> None:
        of = school(host)
        for text, more in {
            "PAUSED": {"paused": False}, "ENDLESS": {"cap": None}, "MONTHLY": {"calendar": Calendar.MONTH},
            "NONE": {"cap": 0},
        }.items():  # fmt: skip
            code(host, text, **({"cap": 5, "of": of} | more))
        host._source.execute("UPDATE counterfoil.code SET paused_at = now() WHERE code = 'PAUSED'")
        clock.advance(days=310)
        host.run(notices.look_at_year_ends())
        assert World(host, shop).told() == []

    def test_whatever_reconciling_does(self, database: str, simulator: Running, clock: Clock, host: Psycopg) -> None:
        """They come by the process that writes mails, also where nothing is reconciled at intervals."""
        clock.advance(days=310)
        with serving(
            database,
            simulator,
            COUNTERFOIL_RECONCILE_INTERVAL="0",
            COUNTERFOIL_MAIL_INTERVAL="1s",
            COUNTERFOIL_SELLER_MAIL="me@shop.example",
        ) as service:
            service.code(cap=4)
            # Whether the process looked before or after the code was made: it looks again when an hour has passed.
            clock.advance(hours=1, minutes=1)
            until(lambda: [one.recipient for one in host.run(mail.mails())] == ["me@shop.example"])
        assert "4 places not used, and the year is about to end" in host.run(mail.mails())[0].subject

    def test_by_one_process_each_hour(self, host: Psycopg, clock: Clock) -> None:
        assert [host.run(notices.years_are_due()) for _ in range(2)] == [True, False]
        clock.advance(minutes=61)
        assert host.run(notices.years_are_due()) is True
        clock.advance(days=-2)
        assert [host.run(notices.years_are_due()) for _ in range(2)] == [True, False]


class TestMails:
    @pytest.fixture
    def people(self, ten: World) -> World:
        """Ada is in, Ben was invited only, Cy wants no mails."""
        [of] = ten.host.run(catalogue.institutions())
        for name in ("ada", "ben", "cy"):
            token = new_token()
            ten.host.run(portal.invite(institution=of.id, token=token, email=f"{name}@northfold.example"))
            if name != "ben":
                session = new_token()
                ten.host.run(portal.redeem(token=token, session=session))
                visit = ten.host.run(portal.visit(session=session))
                assert visit
                ten.host.run(portal.set_alert(visit=visit, on=False, percent=60, mail=name != "cy"))
        return ten

    async def look(self, database: str, **more: str) -> None:
        settings = load(
            COUNTERFOIL_DATABASE_URL=database, COUNTERFOIL_SECRET_KEY="x" * 32, STRIPE_SECRET_KEY="sk_test_x",
            STRIPE_WEBHOOK_SECRET="whsec_x", COUNTERFOIL_PUBLIC_URL="https://shop.example", **more,
        )  # fmt: skip
        pool: Any = AsyncConnectionPool(database, min_size=1, max_size=2, open=False, kwargs={"autocommit": True})
        async with pool:
            await Mailer(AsyncPsycopg(pool), settings).look()

    async def test_to_whoever_is_in_and_wants_them_once(self, people: World, database: str) -> None:
        people.fill(0, 8)
        for _ in range(2):
            await self.look(database)
        [one] = people.host.run(mail.mails())
        assert (one.recipient, one.subject) == ("ada@northfold.example", "80 % of the places of NORTH are taken")
        assert "0 of 10 places" in one.body
        assert "8 were being paid for and 2 were free." in one.body
        assert "https://shop.example/portal" in one.body

    async def test_to_the_seller_what_they_want(self, people: World, database: str) -> None:
        more = {"COUNTERFOIL_SELLER_MAIL": "me@shop.example", "COUNTERFOIL_SELLER_NOTICES": "held"}
        people.fill(0, 10)
        await self.look(database, **more)
        sent = [(one.recipient, one.subject) for one in people.host.run(mail.mails())]
        assert ("me@shop.example", "northfold: All places of NORTH are taken at the moment") in sent
        assert len(sent) == 3

    async def test_two_processes_write_each_once(self, people: World, database: str) -> None:
        people.fill(0, 8)
        [notice] = people.host.run(notices.unmailed())
        assert people.host.run(notices.mail(notice=notice, drafts=[])) is True
        assert people.host.run(notices.mail(notice=notice, drafts=[])) is False


@pytest.mark.parametrize(("length", "told"), [(80, ["year_end"]), (50, [])])
def test_a_named_period_that_ends(clock: Clock, host: Psycopg, shop: Shop, length: int, told: list[str]) -> None:
    """As a year is told of, if it is longer than twice the time before its end."""
    known = code(host, cap=10, calendar=Calendar.CUSTOM)
    world = World(host, shop)
    row = clock.connection.execute("SELECT counterfoil.clock()::date").fetchone()
    assert row
    today = row[0]
    host.run(
        calendars.set_period(
            code=known, name="Term", starts_on=today - timedelta(length - 20), ends_on=today + timedelta(20)
        )
    )
    host.run(notices.look_at_year_ends())
    host.run(notices.look_at_year_ends())
    assert world.told() == told
    assert [one.headline for one in world.all()] == ["NORTH: 10 places not used, and Term is about to end"] * len(told)
