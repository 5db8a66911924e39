"""Nothing was heard of what happened at Stripe: reconciling finds each kind of it, and settling ends in the truth."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from tests.conftest import Clock
from tests.life.test_opening import Till, till
from tests.life.test_refunds import DISPUTED, Seller, seller
from tests.support.places import code
from tests.support.races import beside

from counterfoil import catalogue, reconcile, replay, verbs
from counterfoil.calls import ListSessions, RetrieveSession
from counterfoil.drift import Would
from counterfoil.model import Checkout
from counterfoil.reconcile import Report
from counterfoil.simulator import Fault

__all__ = ["seller", "till"]

TABLES = ("redemption", "checkout", "entitlement", "allocation", "attention", "stripe_event", "task")


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator has no limit."""
    monkeypatch.setattr(reconcile, "PACE", 0.0)
    monkeypatch.setattr(replay, "PACE", 0.0)


class Story:
    """What happened, and what is known of it."""

    def __init__(self, seller: Seller, clock: Clock, connection: psycopg.Connection[Any]) -> None:
        self.seller, self.till, self.simulator = seller, seller.till, seller.simulator
        self.clock, self.connection = clock, connection

    def paid(self) -> Checkout:
        sale = self.till.open().checkout
        self.simulator.pay(str(sale.session_id))
        return sale

    def paid_at_full_price(self) -> Checkout:
        sale = self.till.open(code=None).checkout
        self.simulator.pay(str(sale.session_id))
        return sale

    def expired(self) -> Checkout:
        sale = self.till.open().checkout
        self.clock.advance(minutes=32)
        return sale

    def expired_and_lapsed(self) -> Checkout:
        sale = self.till.open().checkout
        self.clock.advance(minutes=45)
        return sale

    def expired_long_ago(self) -> Checkout:
        sale = self.till.open().checkout
        self.clock.advance(days=30)
        return sale

    def expired_at_full_price(self) -> Checkout:
        sale = self.till.open(code=None).checkout
        self.clock.advance(days=9)
        return sale

    def lapsed_and_gone_from_stripe(self) -> Checkout:
        sale = self.expired_long_ago()
        self.simulator.call(self.simulator.account.engine.sessions.clear)
        return sale

    def lapsed_and_detached(self) -> Checkout:
        """The process died between taking the old session off the row and ending it."""
        sale = self.till.open().checkout
        assert sale.redemption
        assert self.till.do.renew(sale.redemption) == "renewed"
        self.clock.advance(minutes=45)
        return sale

    def detached_and_paid(self) -> Checkout:
        sale = self.till.open().checkout
        assert sale.redemption
        assert self.till.do.renew(sale.redemption) == "renewed"
        self.simulator.pay(str(sale.session_id))
        return sale

    def never_attached_and_paid(self) -> Checkout:
        """The process died before it could write down which session it made."""
        sale = self.till.open().checkout
        self.connection.execute(
            "UPDATE counterfoil.redemption SET session_id = NULL, session_url = NULL, session_expires_at = NULL"
        )
        self.connection.execute(
            "UPDATE counterfoil.checkout SET session_id = NULL, session_url = NULL, session_expires_at = NULL"
        )
        self.simulator.pay(str(sale.session_id))
        return sale

    def paid_after_release(self) -> Checkout:
        sale = self.till.open().checkout
        assert sale.redemption
        self.till.do.release(sale.redemption)
        self.simulator.pay(str(sale.session_id))
        return sale

    def refunded(self) -> Checkout:
        sale = self.seller.sold("return")
        self.seller.refund(sale)
        return sale

    def refunded_and_kept(self) -> Checkout:
        sale = self.seller.sold("keep")
        self.seller.refund(sale)
        return sale

    def paid_and_refunded(self) -> Checkout:
        sale = self.paid()
        intent = self.simulator.session(str(sale.session_id))["payment_intent"]
        self.seller.refund(Checkout(**{**vars(sale), "payment_intent": intent}))
        return sale

    def refund_failed(self) -> Checkout:
        sale = self.seller.sold("return")
        refund = self.seller.refund(sale)
        self.seller.heard(sale)
        self.seller.fail(refund)
        return sale

    def dispute_lost(self) -> Checkout:
        sale = self.seller.sold("return", DISPUTED)
        self.seller.decide("lost")
        return sale

    def delayed(self, ending: Any = "succeeded") -> Checkout:
        sale = self.till.open().checkout
        self.simulator.pay_delayed(str(sale.session_id), ending)
        return sale

    def delayed_success(self) -> Checkout:
        sale = self.seller.heard(self.delayed())
        self.clock.advance(days=6)
        return sale

    def delayed_success_long_ago(self) -> Checkout:
        sale = self.seller.heard(self.delayed())
        self.clock.advance(days=25)
        return sale

    def delayed_failure(self) -> Checkout:
        sale = self.seller.heard(self.delayed("failed"))
        self.clock.advance(days=6)
        return sale

    def delayed_at_full_price(self) -> Checkout:
        sale = self.till.open(code=None).checkout
        self.simulator.pay_delayed(str(sale.session_id), "succeeded")
        self.seller.heard(sale)
        self.clock.advance(days=12)
        return sale


@pytest.fixture
def story(seller: Seller, clock: Clock, connection: psycopg.Connection[Any]) -> Story:
    return Story(seller, clock, connection)


def rows(connection: psycopg.Connection[Any]) -> list[Any]:
    """All rows of all tables, exactly."""
    return [
        connection.execute(f"SELECT * FROM counterfoil.{table} ORDER BY 1, 2".encode()).fetchall() for table in TABLES
    ]


def look(till: Till, **how: Any) -> Report:
    report: Report = till.run(reconcile.reconcile(till.shop, **how))
    assert till.host.run(verbs.recount()) == []
    return report


def apply(till: Till, **how: Any) -> Report:
    return look(till, apply=True, **how)


KINDS = [
    (Story.paid, Would.COMPLETE, "completed", ("paid", "completed")),
    (Story.paid_at_full_price, Would.COMPLETE, "completed", ("paid", None)),
    (Story.detached_and_paid, Would.COMPLETE, "completed", ("paid", "completed")),
    (Story.never_attached_and_paid, Would.COMPLETE, "completed", ("paid", "completed")),
    (Story.paid_after_release, Would.COMPLETE, "completed_late", ("paid", "completed")),
    (Story.expired, Would.RELEASE, "released", ("expired", "released")),
    (Story.expired_and_lapsed, Would.RELEASE, "released", ("expired", "released")),
    (Story.expired_long_ago, Would.RELEASE, "released", ("expired", "released")),
    (Story.expired_at_full_price, Would.RELEASE, "released", ("expired", None)),
    (Story.lapsed_and_detached, Would.RELEASE, "asked", ("expired", "released")),
    (Story.lapsed_and_gone_from_stripe, Would.RELEASE, "asked", ("expired", "released")),
    (Story.refunded, Would.REFUND, "refunded", ("refunded", "refunded")),
    (Story.refunded_and_kept, Would.REFUND, "refunded", ("refunded", "completed")),
    (Story.paid_and_refunded, Would.REFUND, "refunded", ("refunded", "completed")),
    (Story.refund_failed, Would.REINSTATE, "reinstated", ("paid", "completed")),
    (Story.dispute_lost, Would.REFUND, "refunded", ("refunded", "refunded")),
    (Story.delayed, Would.PENDING, "pending", ("pending", "pending")),
    (Story.delayed_success, Would.COMPLETE, "completed", ("paid", "completed")),
    (Story.delayed_success_long_ago, Would.COMPLETE, "completed", ("paid", "completed")),
    (Story.delayed_failure, Would.RELEASE, "released", ("failed", "released")),
    (Story.delayed_at_full_price, Would.COMPLETE, "completed", ("paid", None)),
]  # fmt: skip


@pytest.mark.parametrize(("happened", "would", "done", "end"), KINDS, ids=[kind[0].__name__ for kind in KINDS])
def test_each_kind(
    story: Story,
    connection: psycopg.Connection[Any],
    happened: Callable[[Story], Checkout],
    would: Would,
    done: str,
    end: tuple[str, str | None],
) -> None:
    """Shown without a change to any row; settled, and then it is the truth; and there is no drift any more."""
    sale = happened(story)
    before = rows(connection)
    shown = look(story.till)
    assert [(one.session_id, one.would, one.done, one.left) for one in shown.findings] == [
        (sale.session_id, would, None, True)
    ]
    assert not shown.fine
    assert rows(connection) == before

    settled = apply(story.till)
    assert [(one.would, one.done, one.left) for one in settled.findings] == [(would, done, False)]
    assert settled.fine
    after = story.till.read(sale)
    assert (after.status, after.redemption and after.redemption.status) == end

    truth = rows(connection)
    again = apply(story.till)
    assert (again.findings, again.fine) == ([], True)
    assert rows(connection) == truth


def test_no_drift_at_all(story: Story, connection: psycopg.Connection[Any]) -> None:
    """Open, paid, released, refunded, pending: what was heard is no drift, and a foreign session is none of ours."""
    code(story.till.host, "MANY", cap=None, of=story.till.host.run(catalogue.institution("northfold")))
    for number, ending in enumerate(("open", "pay", "delay", "cancel")):
        sale = story.till.open(str(number), "MANY").checkout
        if ending == "pay":
            story.simulator.pay(str(sale.session_id))
        elif ending == "delay":
            story.simulator.pay_delayed(str(sale.session_id))
        elif ending == "cancel":
            story.simulator.expire(str(sale.session_id))
        story.seller.heard(sale)
    story.till.open(code=None)
    story.till.stripe.inner.client.v1.checkout.sessions.create(
        {
            "mode": "payment", "success_url": "https://shop.test/",
            "line_items": [{"quantity": 1, "price_data": {
                "currency": "gbp", "unit_amount": 500, "product_data": {"name": "of another shop"}}}],
        }
    )  # fmt: skip
    before = rows(connection)
    report = apply(story.till)
    assert (report.findings, report.compared, report.reached, report.fine) == ([], 5, 1.0, True)
    assert rows(connection) == before


def test_a_paid_session_whose_row_is_not_here(story: Story, connection: psycopg.Connection[Any]) -> None:
    """Put before the seller, once; nothing is made up for it."""
    sale = story.paid()
    connection.execute("DELETE FROM counterfoil.checkout; DELETE FROM counterfoil.redemption")
    connection.execute("UPDATE counterfoil.allocation SET used = 0")
    shown = look(story.till)
    assert [(one.rows, one.stripe, one.would) for one in shown.findings] == [
        ("no such row", "complete, paid", Would.ATTENTION)
    ]
    assert connection.execute("SELECT * FROM counterfoil.attention").fetchall() == []
    assert apply(story.till).fine
    listed = connection.execute("SELECT kind, subject FROM counterfoil.attention").fetchall()
    assert listed == [("unmatched-session", sale.session_id)]
    assert apply(story.till).findings == []


def test_a_row_whose_payment_stripe_does_not_know(story: Story, connection: psycopg.Connection[Any]) -> None:
    """Perhaps it is the key of another account: nothing is given back on that ground, and a person is told."""
    sale = story.seller.heard(story.delayed())
    story.simulator.call(story.simulator.account.engine.agenda.clear)
    story.simulator.call(story.simulator.account.engine.sessions.clear)
    story.clock.advance(days=22)
    report = apply(story.till)
    assert [(one.rows, one.stripe, one.would, one.left) for one in report.findings] == [
        ("pending, overdue", "unknown", Would.ATTENTION, False)
    ]
    assert story.till.read(sale).status == "pending"
    listed = connection.execute("SELECT kind, subject FROM counterfoil.attention").fetchall()
    assert listed == [("drift", sale.session_id)]
    assert apply(story.till).findings == []


def test_a_delayed_payment_past_its_deadline_keeps_its_place(story: Story, connection: psycopg.Connection[Any]) -> None:
    sale = story.seller.heard(story.delayed())
    story.simulator.call(story.simulator.account.engine.agenda.clear)
    story.clock.advance(days=22)
    assert [one.would for one in look(story.till).findings] == [Would.ATTENTION]
    assert apply(story.till).fine
    assert connection.execute("SELECT kind FROM counterfoil.attention").fetchall() == [("payment-overdue",)]
    assert story.till.read(sale).status == "pending"
    assert apply(story.till).findings == []


def test_a_dispute_that_nobody_heard_of(story: Story, connection: psycopg.Connection[Any]) -> None:
    sale = story.till.open().checkout
    story.simulator.pay(str(sale.session_id))
    story.seller.heard(sale)
    engine = story.simulator.account.engine
    charge = next(iter(engine.charges.values()))
    story.simulator.call(lambda: engine._dispute(charge))
    assert [one.would for one in look(story.till).findings] == [Would.ATTENTION]
    assert apply(story.till).fine
    assert connection.execute("SELECT kind FROM counterfoil.attention").fetchall() == [("dispute",)]
    assert apply(story.till).findings == []


def many(story: Story, number: int) -> list[Checkout]:
    """So many holds that were paid, and nobody heard."""
    code(story.till.host, "MANY", cap=None, of=story.till.host.run(catalogue.institution("northfold")))
    return [story.till.open(str(buyer), "MANY").checkout for buyer in range(number)]


def test_more_than_one_page(story: Story) -> None:
    """Read a hundred at a time; alone are read only those that differ."""
    sales = many(story, 103)
    for sale in (sales[0], sales[-1]):
        story.simulator.pay(str(sale.session_id))
    story.till.stripe.calls.clear()
    seen: list[tuple[int, float]] = []
    report = apply(story.till, tell=lambda report: seen.append((report.compared, report.reached)))
    assert {one.session_id for one in report.findings} == {sales[0].session_id, sales[-1].session_id}
    assert [story.till.read(sale).status for sale in (sales[0], sales[50], sales[-1])] == ["paid", "open", "paid"]
    calls = story.till.stripe.calls
    assert sum(isinstance(call, ListSessions) for call in calls) == 2
    assert sum(isinstance(call, RetrieveSession) for call in calls) == 2
    assert [compared for compared, _ in seen] == [100, 103, 103]
    assert seen[-1][1] == 1.0


def test_more_old_rows_than_are_fetched_at_a_time(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcile, "ROWS", 2)
    sales = many(story, 5)
    story.simulator.pay(str(sales[3].session_id))
    story.clock.advance(days=10)
    assert len(look(story.till).findings) == 5
    report = apply(story.till)
    assert sorted(one.would for one in report.findings) == ["complete", *["release"] * 4]
    assert report.fine
    assert apply(story.till).fine


def test_how_far_back_is_for_the_caller_to_say(story: Story) -> None:
    """A refund of long ago is beyond the days; with more days it is found."""
    sale = story.seller.sold("keep")
    story.clock.advance(days=12)
    story.seller.refund(sale)
    assert look(story.till).findings == []
    assert [one.would for one in look(story.till, last=timedelta(days=20)).findings] == [Would.REFUND]


class TestStripeGoesAwayInTheMiddle:
    def test_between_two_sessions(self, story: Story) -> None:
        """What was settled stays; the rest is settled next time."""
        sales = many(story, 12)
        for sale in sales:
            story.simulator.pay(str(sale.session_id))
        story.simulator.fail_next(Fault("reset", "GET", "/v1/checkout/sessions/*", after=7, times=0))
        report = apply(story.till)
        assert report.interrupted == "Stripe could not be reached."
        assert not report.fine
        paid = [story.till.read(sale).status for sale in sales].count("paid")
        assert paid == len(report.findings) == 7
        story.simulator.call(story.simulator.account.faults.clear)
        again = apply(story.till)
        assert (len(again.findings), again.fine) == (5, True)

    def test_at_the_first_page(self, story: Story, connection: psycopg.Connection[Any]) -> None:
        story.paid()
        before = rows(connection)
        story.simulator.fail_next(Fault("refuse", "GET", "/v1/checkout/sessions", times=0, status=500, message="down"))
        report = apply(story.till)
        assert (report.interrupted, report.findings) == ("Stripe answered: down", [])
        assert rows(connection) == before


def test_what_could_not_be_settled_is_left_over(
    story: Story, connection: psycopg.Connection[Any], database: str
) -> None:
    """The row was locked too long: it is drift still, and before the seller; the next time settles it."""
    sale = story.paid()
    with psycopg.connect(database, autocommit=True) as other, other.transaction():
        other.execute("SELECT 1 FROM counterfoil.redemption FOR UPDATE")
        report = apply(story.till)
    assert [(one.done, one.left) for one in report.findings] == [("busy", True)]
    assert not report.fine
    assert connection.execute("SELECT kind, subject FROM counterfoil.attention").fetchall() == [
        ("drift", sale.session_id)
    ]
    assert apply(story.till).fine
    assert story.till.read(sale).status == "paid"


def test_two_at_once_settle_it_once(story: Story, database: str) -> None:
    sales = many(story, 8)
    for sale in sales:
        story.simulator.pay(str(sale.session_id))

    def other() -> Report:
        from counterfoil.hosts.psycopg import Psycopg
        from counterfoil.procedure import drive

        with psycopg.connect(database, autocommit=True) as connection:
            return drive(reconcile.reconcile(story.till.shop, apply=True), Psycopg(connection), story.till.stripe.inner)

    with beside(other) as running:
        mine = apply(story.till)
        theirs = running.result(60)
    assert mine.fine
    assert theirs.fine
    assert story.till.do.usage("MANY").completed == 8
    unlocked = story.connection.execute("SELECT count(*) FROM counterfoil.entitlement").fetchone()
    assert unlocked == (8,)


class TestReplay:
    def test_every_event_that_was_never_settled(self, story: Story, connection: psycopg.Connection[Any]) -> None:
        sales = many(story, 3)
        story.simulator.pay(str(sales[0].session_id))
        story.simulator.expire(str(sales[1].session_id))
        refunded = story.seller.sold("return")
        story.seller.refund(refunded)
        report = story.till.run(replay.replay(story.till.shop))
        assert report.fine
        assert {"completed": 1, "released": 1, "refunded": 1}.items() <= report.outcomes.items()
        assert [story.till.read(sale).status for sale in (*sales, refunded)] == ["paid", "expired", "open", "refunded"]
        assert connection.execute(
            "SELECT count(*) FROM counterfoil.stripe_event WHERE settled_at IS NULL"
        ).fetchone() == (0,)
        before = rows(connection)
        again = story.till.run(replay.replay(story.till.shop))
        assert (again.looked_at, again.unsettled, again.fine) == (report.looked_at, 0, True)
        assert rows(connection) == before
        assert apply(story.till).findings == []

    def test_oldest_first_and_more_than_one_page(self, story: Story) -> None:
        sales = many(story, 101)
        for sale in sales:
            story.simulator.expire(str(sale.session_id))
        told: list[int] = []
        report = story.till.run(replay.replay(story.till.shop, tell=lambda report: told.append(report.looked_at)))
        assert told[:2] == [100, 101]
        assert report.outcomes == {"released": 101}
        asked = [call.session_id for call in story.till.stripe.calls if isinstance(call, RetrieveSession)]
        assert asked == [sale.session_id for sale in sales]

    def test_no_further_back_than_is_said(self, story: Story) -> None:
        story.paid()
        story.clock.advance(days=2)
        report = story.till.run(replay.replay(story.till.shop, last=timedelta(days=1)))
        assert (report.looked_at, report.unsettled) == (0, 0)

    def test_stripe_goes_away_in_the_middle(self, story: Story) -> None:
        sales = many(story, 4)
        for sale in sales:
            story.simulator.pay(str(sale.session_id))
        story.simulator.fail_next(Fault("reset", "GET", "/v1/checkout/sessions/*", after=2, times=0))
        report = story.till.run(replay.replay(story.till.shop))
        assert (report.interrupted, report.outcomes) == ("Stripe could not be reached.", {"completed": 2})
        story.simulator.call(story.simulator.account.faults.clear)
        again = story.till.run(replay.replay(story.till.shop))
        assert (again.fine, again.outcomes) == (True, {"completed": 2})

    def test_an_event_of_a_session_that_is_not_there_stops_no_other(self, story: Story) -> None:
        lost, found = many(story, 2)
        for sale in (lost, found):
            story.simulator.pay(str(sale.session_id))
        story.simulator.call(lambda: story.simulator.account.engine.sessions.pop(str(lost.session_id)))
        report = story.till.run(replay.replay(story.till.shop))
        assert (len(report.left), report.outcomes, report.fine) == (1, {"completed": 1}, False)

    def test_an_event_that_stripe_will_not_speak_about_stops_no_other(self, story: Story) -> None:
        """The key may not read its session: that is so each time, and the others are settled all the same."""
        forbidden, other = many(story, 2)
        for sale in (forbidden, other):
            story.simulator.pay(str(sale.session_id))
        story.simulator.fail_next(Fault("refuse", "GET", f"*/{forbidden.session_id}", status=403, times=0))
        report = story.till.run(replay.replay(story.till.shop))
        assert (len(report.left), report.outcomes, report.interrupted) == (1, {"completed": 1}, None)

    def test_those_that_were_never_delivered_are_counted(self, story: Story) -> None:
        """Not those of this moment, which may be on their way, and not those that were received."""
        story.paid()
        assert story.till.run(replay.replay(story.till.shop)).missed == 0
        story.clock.advance(days=1)
        many(story, 1)
        story.simulator.pay(str(story.till.sales()[0].session_id))
        story.clock.advance(minutes=11)
        report = story.till.run(replay.replay(story.till.shop))
        assert (report.missed, report.unsettled) == (1, 1)


def test_a_delayed_payment_is_compared_long_before_its_deadline(story: Story) -> None:
    """Its event was lost, and the list of the last days does not reach back to it."""
    sale = story.seller.heard(story.delayed())
    story.clock.advance(days=10)
    assert story.till.read(sale).status == "pending"
    report = apply(story.till)
    assert [(one.would, one.left) for one in report.findings] == [(Would.COMPLETE, False)]
    assert story.till.read(sale).status == "paid"


def test_what_a_crash_left_at_full_price_ends_after_a_day(story: Story) -> None:
    """No session was attached, so nobody has its page; one that is being made is let be."""
    sale = story.till.open(code=None).checkout
    story.connection.execute(
        "UPDATE counterfoil.checkout SET session_id = NULL, session_url = NULL, session_expires_at = NULL"
    )
    story.till.host.run(verbs.end_forsaken())
    assert story.till.read(sale).status == "open"
    story.clock.advance(hours=26)
    story.till.host.run(verbs.end_forsaken())
    assert story.till.read(sale).status == "failed"


def test_an_id_in_the_metadata_that_was_never_ours(story: Story) -> None:
    """Unpaid, it asks nothing of anybody."""
    story.till.stripe.inner.client.v1.checkout.sessions.create(
        {
            "mode": "payment", "success_url": "https://shop.test/",
            "metadata": {"counterfoil_checkout": str(uuid4()), "counterfoil_counts_with": "0"},
            "line_items": [{"quantity": 1, "price_data": {
                "currency": "gbp", "unit_amount": 500, "product_data": {"name": "of another database"}}}],
        }
    )  # fmt: skip
    assert look(story.till).findings == []
