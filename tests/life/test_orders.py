"""
Whatever the order in which Stripe's events arrive, how often, and which of them: the rows end as Stripe's truth is,
and each transition happens once.

The tables are generated. `MODEL` says what can happen to one session; every walk through it is a history; of each
history every order of delivery is tried, or a part of them drawn by a seed where there are too many.
"""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement, permutations
from typing import Any
from uuid import UUID

import psycopg
import pytest
from tests.support.in_process import beside, in_process
from tests.support.noting import Noting
from tests.support.places import code, lapse, school
from tests.support.stepping import ByHand

from counterfoil import catalogue, ending, verbs
from counterfoil.checkout import Opened, open_checkout
from counterfoil.errors import Refusal
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Checkout, Order, RefundPolicy, ReleaseReason, Shop, StripeEvent
from counterfoil.procedure import Procedure, drive
from counterfoil.settlement import EVENTS, settle_event
from counterfoil.simulator import money_back
from counterfoil.simulator.account import Account
from counterfoil.simulator.engine import DISPUTED, Cause, Challenged
from counterfoil.stripe.events import read_document
from counterfoil.verbs import Ask

#: What can happen to a session at Stripe: state -> act -> state.
MODEL = {
    "open": {
        "pay": "paid", "pay_disputed": "disputed", "delay": "processing", "expire": "expired",
        "challenge": "challenged",
    },
    "challenged": {"approve": "paid", "expire": "challenged and expired"},
    # Stripe does not document which: here the payment that was begun in time wins, and an expired session is paid.
    "challenged and expired": {"approve": "paid"},
    "processing": {"succeed": "paid", "fail": "failed"},
    "paid": {"refund": "refunded", "part": "refunded in part"},
    "refunded in part": {"refund": "refunded"},
    "refunded": {"refund_fails": "paid again"},
    "disputed": {"win": "won", "lose": "lost"},
}  # fmt: skip

#: The events that an act tells, of those that we want to hear of.
TOLD = {
    "pay": ["checkout.session.completed"],
    "pay_disputed": ["checkout.session.completed", "charge.dispute.created", "charge.dispute.funds_withdrawn"],
    "delay": ["checkout.session.completed"],
    "expire": ["checkout.session.expired"],
    "challenge": [],
    "approve": ["checkout.session.completed"],
    "succeed": ["checkout.session.async_payment_succeeded"],
    "fail": ["checkout.session.async_payment_failed"],
    "refund": ["refund.created", "charge.refunded"],
    "part": ["refund.created", "charge.refunded"],
    "refund_fails": ["refund.failed", "refund.updated"],
    "win": ["charge.dispute.funds_reinstated", "charge.dispute.closed"],
    "lose": ["charge.dispute.closed"],
}

#: What we may do ourselves meanwhile. All but the first end a session that is open.
HANDS = ("lapse", "ask", "release", "cancel")

COMPLETED = {"paid", "refunded in part", "paid again", "won", "disputed"}


@dataclass(frozen=True)
class History:
    """What happened, in its order, and what is then true at Stripe."""

    acts: tuple[str, ...]
    truth: str

    def told(self, index: int) -> list[str]:
        """The events of an act. A hand that ends an open session lets Stripe tell of its end."""
        act = self.acts[index]
        if act not in HANDS:
            return TOLD[act]
        before = _walked(self.acts[:index])
        return ["checkout.session.expired"] if act != "lapse" and before in ("open", "challenged") else []


def _walked(acts: Sequence[str]) -> str:
    state = "open"
    for act in acts:
        if act in HANDS:
            if act != "lapse" and state in ("open", "challenged"):
                state = "expired" if state == "open" else "challenged and expired"
        else:
            state = MODEL[state][act]
    return state


def histories(most: int) -> Iterator[History]:
    """Every walk through the model of at most so many acts."""

    def walk(state: str, acts: tuple[str, ...]) -> Iterator[History]:
        if acts:
            yield History(acts, state)
        if len(acts) < most:
            for act, following in MODEL.get(state, {}).items():
                yield from walk(following, (*acts, act))

    return walk("open", ())


def with_a_hand(history: History) -> Iterator[History]:
    """The same, and at any point one of the things that we do ourselves; less what could not happen any more then."""
    for hand in HANDS:
        for at in range(len(history.acts) + 1):
            acts = (*history.acts[:at], hand, *history.acts[at:])
            try:
                yield History(acts, _walked(acts))
            except KeyError:
                continue


#: One step of a table: an act of the history by its number, or the delivery of the act's n-th event, for the m-th time.
Move = tuple[str, int, int]


def orders(history: History, copies: int, most: int) -> list[list[Move]]:
    """
    The acts in their order, and each of their events delivered *copies* times, at any point after it happened: all such
    orders, or *most* of them, drawn.
    """
    lots = random.Random(repr((history, copies)))
    deliveries = [
        [("event", act, event) for event in range(len(history.told(act))) for _ in range(copies)]
        for act in range(len(history.acts))
    ]
    found: list[list[Move]] = []

    def all_of(order: list[Move], acts: int, waiting: Counter[Move]) -> None:
        if len(found) > most * 4:
            return
        if acts == len(history.acts) and not waiting:
            found.append(order)
            return
        if acts < len(history.acts):
            all_of([*order, ("act", acts, 0)], acts + 1, waiting + Counter(deliveries[acts]))
        for move in waiting:
            all_of([*order, move], acts, waiting - Counter([move]))

    all_of([], 0, Counter())
    if len(found) <= most:
        return found
    drawn: list[list[Move]] = []
    for _ in range(most):
        order: list[Move] = []
        acts, waiting = 0, list[Move]()
        while acts < len(history.acts) or waiting:
            if acts < len(history.acts) and lots.randrange(len(waiting) + 1) == 0:
                order.append(("act", acts, 0))
                waiting += deliveries[acts]
                acts += 1
            else:
                order.append(waiting.pop(lots.randrange(len(waiting))))
        drawn.append(order)
    return drawn


@dataclass
class Case:
    """One session and its row, and what was done to them in which order."""

    history: History
    policy: RefundPolicy
    order: list[str]
    redemption: UUID | None = None
    session_id: str = ""
    events: dict[tuple[int, int], StripeEvent] = field(default_factory=dict)
    transitions: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return f"{' '.join(self.history.acts)} ({self.policy}), told {', '.join(self.order)}: {dict(self.transitions)}"


class Table:
    """Many cases in one database."""

    def __init__(self, host: Psycopg, connection: psycopg.Connection[Any], shop: Shop) -> None:
        self.host, self.connection, self.shop = Noting(host), connection, shop
        self.engine = beside(connection, late_challenge_wins=True)
        self.account = Account(self.engine)
        self.stripe = in_process(self.account, shop.clocks)
        self.told: list[StripeEvent] = []
        self.engine.on_event = lambda event: self.told.append(read_document(event))
        self.cases: list[Case] = []
        place = school(host)
        host.run(catalogue.add_product(id="hub", name="hub", amount=2000, currency="gbp", unlocks=["hub"]))
        for policy in RefundPolicy:
            code(host, policy, cap=100_000, of=place, refund_policy=policy)

    def run(self, procedure: Procedure[Any]) -> Any:
        return drive(procedure, self.host, self.stripe)

    def begin(self, history: History, policy: RefundPolicy, order: Iterable[Any]) -> tuple[Case, Procedure[Opened]]:
        """A new case, and the procedure of its opening."""
        case = Case(history, policy, [str(move) for move in order])
        self.cases.append(case)
        urls = {"success_url": "http://127.0.0.1/ok", "cancel_url": "http://127.0.0.1/no"}
        order_of = Order(buyer=f"buyer {len(self.cases)}", product="hub", code=policy, **urls)
        return case, open_checkout(order_of, self.shop)

    def opened(self, history: History, policy: RefundPolicy, order: Iterable[Any]) -> Case:
        """A new case whose buyer has the page."""
        case, opening = self.begin(history, policy, order)
        sale = self.run(opening).checkout
        case.redemption, case.session_id = sale.redemption.id, sale.session_id
        return case

    def act(self, case: Case, index: int) -> None:
        """Let an act happen; what Stripe tells of it is there to be delivered."""
        self.told.clear()
        engine, act, id = self.engine, case.history.acts[index], case.session_id
        intent = engine.sessions[id]["payment_intent"]
        charge = engine.charges.get(engine.intents[intent]["latest_charge"] or "") if intent else None
        match act:
            case "pay":
                engine.pay(id)
            case "pay_disputed":
                engine.pay(id, DISPUTED)
            case "delay":
                engine.pay_delayed(id)
            case "challenge":
                with pytest.raises(Challenged):
                    engine.pay(id, "4000002760003184")
            case "approve":
                engine.answer_challenge(id, approve=True)
            case "expire":
                engine.expire_session(id, Cause())
            case "succeed":
                engine.end_delayed(id, "succeeded")
            case "fail":
                engine.end_delayed(id, "failed")
            case "part" | "refund" if charge:
                amount = 100 if act == "part" else charge["amount"] - charge["amount_refunded"]
                money_back.refund(engine, charge, amount, None, {}, Cause())
            case "refund_fails" if charge:
                refund = [one for one in engine.refunds.values() if one["charge"] == charge["id"]][-1]
                money_back.refund_fails(engine, refund)
            case "win" | "lose" if charge:
                dispute = next(one for one in engine.disputes.values() if one["charge"] == charge["id"])
                money_back.close_dispute(engine, dispute, {"win": "won", "lose": "lost"}[act], Cause())
            case _:
                self.hand(act, case)
        told = [event for event in self.told if event.type in EVENTS]
        assert [event.type for event in told] == case.history.told(index), case
        case.events |= {(index, number): event for number, event in enumerate(told)}

    def hand(self, act: str, case: Case) -> None:
        """What we do ourselves."""
        sale = self.sale(case)
        assert sale.redemption
        match act:
            case "lapse":
                if sale.redemption.status == "reserved":
                    lapse(self.connection, sale.redemption)
            case "ask":
                claim = sale.redemption
                self.run(ending.ask([Ask(claim.id, claim.counts_with, claim.attempt, case.session_id)], self.shop))
            case "release":
                self.run(ending.release(sale.redemption, self.shop, ReleaseReason.BY_HAND))
            case "cancel":
                self.run(ending.cancel(sale, self.shop))

    def sale(self, case: Case) -> Checkout:
        found = self.host.run(verbs.checkout(redemption=case.redemption))
        assert found
        return found

    def deliver(self, event: StripeEvent) -> None:
        self.run(settle_event(event, self.shop))

    def in_order(self, history: History, policy: RefundPolicy, order: list[Move]) -> None:
        """The acts and the deliveries as they come. What comes again is another event about the same change."""
        case = self.opened(history, policy, order)
        seen: Counter[Move] = Counter()
        for move in order:
            kind, act, number = move
            if kind == "act":
                self.act(case, act)
                continue
            event = case.events[act, number]
            seen[move] += 1
            self.deliver(event if seen[move] == 1 else another(event, seen[move]))
        # All of them once more, as Stripe delivers an event again: nothing may come of it.
        before = Counter(self.host.transitions[case.redemption or UUID(int=0)])
        for event in case.events.values():
            self.deliver(event)
        assert self.host.transitions[case.redemption or UUID(int=0)] == before, case

    def check(self) -> None:
        """Every row is as the truth of its history is, each transition happened once, and the counters are right."""
        rows = {
            row[0]: row[1:]
            for row in self.connection.execute(
                "SELECT r.id, r.status, r.refunded_at IS NOT NULL, r.release_reason, c.status, "
                "(SELECT count(*) FROM counterfoil.entitlement AS e WHERE e.counts_with = c.counts_with "
                "AND e.checkout_id = c.id AND e.revoked_at IS NULL), r.over_cap "
                "FROM counterfoil.redemption AS r JOIN counterfoil.checkout AS c "
                "ON (c.counts_with, c.redemption_id) = (r.counts_with, r.id)"
            )
        }
        assert self.cases
        for case in self.cases:
            assert case.redemption
            case.transitions = self.host.transitions[case.redemption]
            check(case, *rows[case.redemption])
        assert self.host.run(verbs.recount()) == []


def another(event: StripeEvent, number: int) -> StripeEvent:
    """Another event about the same change: its id is another."""
    return StripeEvent(f"{event.id}_{number}", event.type, event.object_id, event.livemode, event.payment_intent)


def check(
    case: Case, status: str, money_back: bool, reason: str | None, sale: str, unlocked: int, over_cap: bool
) -> None:
    """What the truth of a history means for its rows."""
    truth, happened = case.history.truth, case.transitions
    gone = truth in ("refunded", "lost")
    paid = truth in COMPLETED or gone
    returned = gone and (
        case.policy == RefundPolicy.RETURN
        or (case.policy == RefundPolicy.RETURN_UNLESS_DISPUTED and truth == "refunded")
    )
    if paid:
        assert status == ("refunded" if returned else "completed"), case
        assert money_back == gone, case
        assert sale == ("refunded" if gone else "paid"), case
    elif truth == "processing":
        assert (status, sale) == ("pending", "pending"), case
    elif truth in ("open", "challenged"):
        assert (status, sale) == ("reserved", "open"), case
    else:
        assert status == "released", case
        reasons = {"failed": {"payment_failed"}}.get(truth, {"session_expired"})
        by_hand = {"ask": "lapsed", "release": "by_hand", "cancel": "cancelled"}
        assert reason in reasons | {by_hand[act] for act in case.history.acts if act in by_hand}, case
        assert sale in {"expired", "cancelled", "failed"}, case
    assert unlocked == (1 if paid and not gone else 0), case
    assert not over_cap, case

    assert happened["completed"] == (1 if paid else 0), case
    assert happened["released"] <= 1, case
    assert happened["released"] == 1 or status != "released", case
    assert happened["pending"] <= 1, case
    assert happened["reinstated"] <= case.history.acts.count("refund_fails"), case
    assert happened["refunded"] - happened["reinstated"] == (1 if gone else 0), case


@pytest.fixture
def table(host: Psycopg, connection: psycopg.Connection[Any], shop: Shop) -> Table:
    return Table(host, connection, shop)


def policies(history: History) -> list[RefundPolicy]:
    """Those that make a difference: all where money went back."""
    money = {"refund", "part", "win", "lose", "refund_fails"} & set(history.acts)
    return list(RefundPolicy) if money else [RefundPolicy.RETURN]


def test_the_sixty_orders(table: Table) -> None:
    """Attach, completed, completed again, expired, async succeeded: 5! orders, two of the five being the same."""
    paid = History(("pay",), "paid")
    kinds = ("attach", "completed", "completed", "expired", "async_payment_succeeded")
    wanted = sorted(set(permutations(kinds)))
    assert len(wanted) == 60
    for order in wanted:
        case, opening = table.begin(paid, RefundPolicy.KEEP, order)
        attaching = before_attach(table, case, opening)
        table.engine.pay(case.session_id)
        for number, kind in enumerate(order):
            if kind == "attach":
                attach(attaching)
            else:
                id = f"evt_{case.redemption}_{number}"
                table.deliver(StripeEvent(id, f"checkout.session.{kind}", case.session_id, livemode=False))
    table.check()
    said = table.connection.execute(
        "SELECT object_id, count(*) FILTER (WHERE outcome = 'completed'), count(*) "
        "FROM counterfoil.stripe_event GROUP BY object_id"
    ).fetchall()
    assert {row[1:] for row in said} == {(1, 4)}, "one of its four events completed it, and no other says so"


def before_attach(table: Table, case: Case, opening: Procedure[Opened]) -> ByHand:
    """Open as far as the session is made, and stop before it is attached."""
    stopped = ByHand(opening, table.host, table.stripe)
    stopped.stop_before("attach")
    session = next(table.engine.newest("sessions"))
    case.session_id, case.redemption = session["id"], UUID(session["metadata"]["counterfoil_redemption"])
    return stopped


def attach(opening: ByHand) -> None:
    """Go on from there: the buyer gets the page, or is refused if the row has moved on."""
    with contextlib.suppress(Refusal):
        opening.finish()


@pytest.mark.parametrize(("copies", "most"), [(1, 10), (2, 5)])
def test_while_the_truth_moves(table: Table, copies: int, most: int) -> None:
    """Each event is delivered at any point at or after it happened, once or twice."""
    for history in histories(4):
        for policy in policies(history):
            for order in orders(history, copies, most):
                table.in_order(history, policy, order)
    table.check()


def test_while_we_act_ourselves(table: Table) -> None:
    """The same, and meanwhile the hold lapses, or is asked about, given back by hand, or cancelled."""
    for history in histories(3):
        for more in with_a_hand(history):
            for order in orders(more, 1, 1):
                table.in_order(more, RefundPolicy.RETURN, order)
    table.check()


def test_once_all_has_happened(table: Table) -> None:
    """
    The truth stands, and any few of its events arrive in any order, some twice, the others never; the attach among
    them at any place. One is enough.
    """
    for history in histories(4):
        if history.truth in ("open", "challenged"):
            continue
        told = [(act, event) for act in range(len(history.acts)) for event in range(len(history.told(act)))]
        wanted = [
            order
            for size in (1, 2, 3)
            for several in combinations_with_replacement(told, size)
            for order in sorted(set(permutations([*several, "attach"])), key=repr)
        ]
        lots = random.Random(repr(history))
        for order in lots.sample(wanted, min(len(wanted), 12)):
            case, opening = table.begin(history, lots.choice(policies(history)), order)
            attaching = before_attach(table, case, opening)
            for index in range(len(history.acts)):
                table.act(case, index)
            for number, item in enumerate(order):
                if item == "attach":
                    attach(attaching)
                else:
                    table.deliver(another(case.events[item], number))
    table.check()
