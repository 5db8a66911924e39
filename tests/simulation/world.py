"""
The world of one run: a shop with few places, four buyers who want them, two processes that serve them, and Stripe.

The procedures are driven by hand, one step at a time, so that between any two steps anything else can happen, and each
step can fail in each way there is. Everything of ours is real; Stripe is the simulator's own API behind the real SDK.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import psycopg

from counterfoil import catalogue, ending, verbs
from counterfoil.calls import ListSessions, Pause, Together
from counterfoil.catalogue import CodeTerms
from counterfoil.checkout import Opened, open_checkout
from counterfoil.clocks import Clocks
from counterfoil.errors import Busy, Refusal
from counterfoil.model import Checkout, CheckoutStatus, Order, RefundPolicy, ReleaseReason, SessionPage, Shop
from counterfoil.pace import Pace
from counterfoil.periods import Calendar
from counterfoil.pricing import PercentOff
from counterfoil.procedure import Procedure, Step
from counterfoil.settlement import EVENTS, settle_event, settle_session
from counterfoil.simulator import money_back, objects
from counterfoil.simulator.account import Account
from counterfoil.simulator.clock import Clock
from counterfoil.simulator.engine import Cause, Challenged, Closed, Declined, Engine
from counterfoil.simulator.faults import Fault
from counterfoil.statement import Statement
from counterfoil.stripe.events import read_document
from tests.simulation.ground import Ground
from tests.simulation.story import Move, Setting
from tests.support.in_process import in_process
from tests.support.noting import Noting
from tests.support.stepping import described

BUYERS = 4
#: What a buyer may want: a product, at a code or not.
WISHES = (("hub", "A"), ("hub", "A"), ("day", "A"), ("hub", "B"), ("hub", "A"), ("hub", None), ("day", "B"))
#: What may happen to a step; where there are more numbers than names, nothing.
FAULTS = ("", "killed before", "killed after", "never done", "done, and the answer lost", "failed for good", "refused")
#: How a buyer pays.
WAYS = (
    "4242424242424242",
    "debit, which succeeds",
    "debit, which fails",
    "4000002760003184",  # its bank asks first
    "4242424242424242",
    "4000000000005126",  # a refund of it fails later
    "4000000000000259",  # disputed at once
    "4000000000000002",  # declined
    "4000000000007726",  # a refund of it is pending first
)
MINUTE, HOUR, DAY = 60, 60 * 60, 24 * 60 * 60
#: How far apart the two clocks may get. It is far more than is allowed: the cap must hold even then.
MOST_SKEW = 15 * MINUTE

_LIVE = """
SELECT a.cap, count(*) FILTER (
    WHERE r.status IN ('completed', 'pending') OR (r.status = 'reserved' AND r.expires_at > counterfoil.clock())
), coalesce(array_agg(r.id) FILTER (WHERE r.over_cap AND r.status = 'completed'), '{}')
FROM counterfoil.allocation AS a
JOIN counterfoil.redemption AS r ON (r.counts_with, r.period) = (a.code_id, a.period)
GROUP BY a.code_id, a.period, a.cap
"""


class Broken(AssertionError):
    """What must never be, was."""


class Injected(psycopg.OperationalError):
    """The connection to the database was lost: a fault of ours."""


@dataclass
class Task:
    """A procedure in flight: the step that is to be done next, in which process, and who waits for its end."""

    name: str
    procedure: Procedure[Any]
    step: Step
    process: int
    finished: Callable[[Any], None]
    failed: Callable[[], None]


def _nothing(*_: Any) -> None:
    pass


@dataclass
class World:
    """One run, from its beginning."""

    ground: Ground
    setting: Setting
    said: list[str] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    #: Events that are on their way.
    post: list[objects.Document] = field(default_factory=list)
    #: The pages that each buyer was given, oldest first: nobody else can pay.
    pages: list[list[str]] = field(default_factory=lambda: [[] for _ in range(BUYERS)])
    sales: list[list[UUID]] = field(default_factory=lambda: [[] for _ in range(BUYERS)])
    #: Redemptions that may be over the cap: Stripe let their payment finish after the end, or a refund came back.
    excused: set[str] = field(default_factory=set)
    #: Redemptions whose place was given back by hand.
    given_back: set[UUID] = field(default_factory=set)
    down_until: float = 0.0
    lost_until: float = 0.0

    def __post_init__(self) -> None:
        """Open the shop."""
        setting = self.setting
        start = datetime(2027, 8, 31, 22, 20, tzinfo=UTC) if setting.year else datetime(2027, 3, 1, 10, tzinfo=UTC)
        self.start = self.seconds = start.timestamp()
        self.ahead = 0.0
        self._told: float | None = None
        self._known = 0.0
        self._last = ""
        self._changed = False
        self._ended: set[str] = set()
        self.cap = 1 + setting.cap
        self.policy = list(RefundPolicy)[setting.policy]
        self.shop = Shop(Clocks(stripe_attempts=1), livemode=False, payment_methods=("card", "bacs_debit"))
        self.engine = Engine(
            "http://pay.test", Clock(source=lambda: self.seconds), late_challenge_wins=bool(setting.late)
        )
        self.account = Account(self.engine)
        self.engine.on_event = self._happened
        self.stripe = in_process(self.account, self.shop.clocks)
        # Each process has its own line before Stripe, which dies with it.
        self.paces = [self._new_pace(), self._new_pace()]
        self.database = Noting(self.ground.host)
        self.ground.clear()
        self._open_shop()

    def _open_shop(self) -> None:
        run = self._statement
        school = run(
            catalogue.add_institution(name="north", time_zone="Europe/London", year_start="09-01", slug="north")
        )
        for id, amount in (("hub", 2000), ("day", 4000)):
            run(catalogue.add_product(id=id, name=id, amount=amount, currency="gbp", unlocks=[id]))
        pool = None
        free = self.setting.free
        for name, percent in (("A", 100 if free == 1 else 50), ("B", 100 if free == 2 else 25)):
            terms = CodeTerms(cap=self.cap, discount=PercentOff(Decimal(percent)), refund_policy=self.policy)
            year = Calendar.ACADEMIC_YEAR
            run(catalogue.add_code(institution=school, code=name, terms=terms, calendar=year, counts_with=pool))
            pool = "A"

    # --- telling ----------------------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Write down what happened, and when, on Stripe's clock; what is said again and again, once."""
        if text == self._last:
            return
        self._last = text
        passed = timedelta(seconds=round(self.seconds - self.start))
        skew = f" (database {self.ahead:+.0f} s)" if self.ahead else ""
        self.said.append(f"{passed!s:>16}{skew}  {text}")

    def short(self, id: str | None) -> str:
        """A session by its number."""
        known = list(self.engine.sessions)
        return f"session {known.index(id) + 1}" if id in known else str(id)

    # --- time -------------------------------------------------------------------------------------------------

    def pass_time(self, seconds: float) -> None:
        """Let time pass on both clocks; what falls due at Stripe happens at its own time."""
        until = self.seconds + seconds
        while (due := self.engine.agenda.next()) is not None and due <= until:
            self.seconds = max(self.seconds, due)
            self.engine.agenda.catch_up()
        self.seconds = until
        self.engine.agenda.catch_up()

    def _happened(self, event: objects.Document) -> None:
        about = event["data"]["object"]
        if event["type"] == "refund.failed":
            self.excused |= {
                _redemption_of(one)
                for one in self.engine.sessions.values()
                if one["payment_intent"] == about["payment_intent"]
            }
        if event["type"] == "checkout.session.expired":
            self._ended.add(about["id"])
        if event["type"] == "checkout.session.completed" and about["id"] in self._ended:
            self.excused.add(_redemption_of(about))
        if event["type"] not in EVENTS:
            return
        if self.seconds < self.lost_until:
            self.say(f"lost on its way: {self.named(event)}")
        else:
            self.post.append(event)

    def named(self, event: objects.Document) -> str:
        """An event in words."""
        about = event["data"]["object"]
        return f"{event['type']} of {self.short(about['id'])}"

    # --- steps ------------------------------------------------------------------------------------------------

    def begin(
        self,
        name: str,
        procedure: Procedure[Any],
        how: int,
        finished: Callable[[Any], None] = _nothing,
        failed: Callable[[], None] = _nothing,
    ) -> None:
        """Start a procedure in one of the processes: to its end, or as many steps as *how* says."""
        self.pass_time(0.01)
        self.say(name)
        try:
            step = next(procedure)
        except StopIteration as end:
            finished(end.value)
            return
        task = Task(name, procedure, step, how % 2, finished, failed)
        self.tasks.append(task)
        self.go_on(task, how // 2)

    def go_on(self, task: Task, steps: int, fault: str = "") -> None:
        """Do so many steps of a procedure, or all of them for 0; the first of them with a fault."""
        done = 0
        while task in self.tasks and (steps == 0 or done < steps):
            self._one(task, fault)
            fault = ""
            done += 1
            if done > 300:
                raise Broken(f"{task.name}: never comes to an end")

    def _one(self, task: Task, fault: str) -> None:
        if fault == "killed before":
            self.kill(task, "before " + described(task.step))
            return
        try:
            try:
                answer = self._do(task.step, fault)
            except (Broken, KeyboardInterrupt):
                raise
            except Exception as failure:  # noqa: BLE001 (whatever it is, the procedure is told)
                self.say(f"    {described(task.step)}: {type(failure).__name__}{', ' + fault if fault else ''}")
                following = task.procedure.throw(failure)
            else:
                if not isinstance(task.step, Pause):
                    self.say(f"    {described(task.step)}{outcome(answer)}")
                if fault == "killed after":
                    self.kill(task, "after " + described(task.step))
                    return
                following = task.procedure.send(answer)
        except StopIteration as end:
            self.tasks.remove(task)
            task.finished(end.value)
        except (Refusal, Injected) as refused:
            self.tasks.remove(task)
            self.say(f"  {task.name}: {type(refused).__name__}")
            task.failed()
        else:
            task.step = following
        self.look()

    def kill(self, task: Task, when: str) -> None:
        """The process dies, and what it knew: the procedure is never resumed, and does nothing more."""
        self.say(f"  {task.name}: killed {when}")
        self.tasks.remove(task)
        self.paces[task.process] = self._new_pace()
        task.failed()

    def _new_pace(self) -> Pace:
        return Pace(clock=lambda: self.seconds)

    def _do(self, step: Step, fault: str) -> Any:
        match step:
            case Statement():
                if fault in ("never done", "failed for good"):
                    raise Injected("the connection was lost")
                if fault == "refused":
                    raise Busy
                answer = self._statement(step)
                if fault == "done, and the answer lost":
                    raise Injected("the connection was lost")
                return answer
            case Pause(seconds):
                return self.pass_time(seconds)
            case Together(calls):
                answers = []
                for call in calls:
                    try:
                        answers.append(self._call(call, fault))
                    except Exception as failure:  # noqa: BLE001 (it is the answer)
                        answers.append(failure)
                    fault = ""
                return answers
            case _:
                return self._call(step, fault)

    def _statement(self, statement: Statement[Any]) -> Any:
        self.tell_time()
        self._changed = self._changed or statement.alone
        return self.database.run(statement)

    def tell_time(self) -> None:
        """Let the database know how late it is."""
        now = self.seconds + self.ahead
        if now != self._told:
            # No clock of a database goes back.
            self._known = max(self._known, now)
            self.ground.set_clock(datetime.fromtimestamp(self._known, UTC))
            self._told = now

    def _call(self, call: Any, fault: str) -> Any:
        faults = self.account.faults
        faults.clear()
        if self.seconds < self.down_until or fault == "never done":
            faults.add(Fault("lost_before"))
        elif fault == "done, and the answer lost":
            faults.add(Fault("lost_after"))
        elif fault == "failed for good":
            faults.add(Fault("error_after"))
        elif fault == "refused":
            faults.add(Fault("refuse", status=429, code="rate_limit"))
        return self.stripe.carry_out(call)

    def look(self) -> None:
        """What must be true at every moment: looked at whenever a statement may have changed it."""
        rows = self.ground.run(_LIVE).fetchall() if self._changed else []
        self._changed = False
        for cap, live, over in rows:
            if live > cap + len(over):
                raise Broken(f"{live} places are spent or held of {cap}, and {len(over)} are marked as over the cap")
            for id in over:
                if str(id) not in self.excused:
                    raise Broken(f"redemption {id} went over the cap, and its payment was neither late nor taken back")
        for buyer, pages in enumerate(self.pages):
            payable = [id for id in pages if self._payable(id) and _redemption_of(self.engine.sessions[id])]
            # In a new year the buyer may have a place of each.
            if len(payable) > 1 and not self.setting.year:
                raise Broken(f"buyer {buyer} can pay {' and '.join(map(self.short, payable))} for one place")

    def _payable(self, id: str) -> bool:
        session = self.engine.sessions[id]
        return bool(session["status"] == "open" and session["expires_at"] > self.seconds)

    # --- moves ------------------------------------------------------------------------------------------------

    def make(self, move: Move) -> None:
        """Let one move happen; nothing, if there is nothing that it could be about."""
        getattr(self, "_" + move.kind.replace(" ", "_"))(move)
        self.look()

    def _open(self, move: Move) -> None:
        buyer = move.who % BUYERS
        product, code = WISHES[move.what % len(WISHES)]
        self.open(buyer, product, code, move.how)

    def open(
        self, buyer: int, product: str, code: str | None, how: int, told: Callable[[Opened], None] = _nothing
    ) -> None:
        """A buyer asks for a payment page; with it, the buyer can pay."""
        order = Order(
            buyer=f"buyer {buyer}",
            success_url="http://shop.test/ok",
            cancel_url="http://shop.test/no",
            product=product,
            code=code,
            browser=f"browser {buyer}" if buyer % 2 else None,
        )

        def given(opened: Opened) -> None:
            sale = opened.checkout
            self.say(f"  buyer {buyer} gets {self.short(sale.session_id)}, {sale.status}")
            if sale.status is CheckoutStatus.OPEN:
                if sale.session_id is None or sale.session_url is None:
                    raise Broken(f"buyer {buyer} is given no page")
                if buyer < BUYERS and sale.session_id not in self.pages[buyer]:
                    self.pages[buyer].append(sale.session_id)
            if buyer < BUYERS and sale.id not in self.sales[buyer]:
                self.sales[buyer].append(sale.id)
            told(opened)

        procedure = open_checkout(order, self.shop, steady=lambda: self.seconds, pace=self.paces[how % 2])
        self.begin(f"buyer {buyer} opens {product} at {code or 'full price'}", procedure, how, given)

    def _go_on(self, move: Move) -> None:
        if self.tasks:
            task = self.tasks[move.who % len(self.tasks)]
            fault = FAULTS[move.what] if move.what < len(FAULTS) else ""
            self.say(f"  goes on: {task.name}{' with a fault: ' + fault if fault else ''}")
            self.go_on(task, move.how, fault)

    def _pay(self, move: Move) -> None:
        buyer = move.who % BUYERS
        pages = self.pages[buyer]
        if not pages:
            return
        id, way = pages[-1 - move.what % len(pages)], WAYS[move.how % len(WAYS)]
        try:
            if way.startswith("debit"):
                self.engine.pay_delayed(id, "failed" if way.endswith("fails") else "succeeded")
            else:
                self.engine.pay(id, way)
            done = "done"
        except (Closed, Declined, Challenged) as refused:
            done = type(refused).__name__.lower()
        self.say(f"buyer {buyer} pays {self.short(id)} with {way}: {done}")

    def _answer_the_bank(self, move: Move) -> None:
        waiting = [one["id"] for one in self.engine.sessions.values() if self._challenged(one)]
        if waiting:
            id, approve = waiting[move.who % len(waiting)], move.what % 3 != 1
            try:
                self.engine.answer_challenge(id, approve=approve)
                done = "done"
            except (Closed, Declined) as refused:
                done = type(refused).__name__.lower()
            self.say(f"the bank of {self.short(id)} is told {'yes' if approve else 'no'}: {done}")

    def _challenged(self, session: objects.Document) -> bool:
        return bool(self.engine.intents.get(session["payment_intent"] or "", {}).get("_card"))

    def _deliver(self, move: Move) -> None:
        if self.post:
            event = self.post.pop(move.who % len(self.post))
            if move.what >= 8:
                self.post.append(event | {"id": objects.new_id("evt")})
            self.deliver(event, move.how)

    def deliver(self, event: objects.Document, how: int) -> None:
        """Stripe calls the webhook; if that does not go well, it will again."""
        shape = objects.thin(event, "2027-03-01T10:00:00Z") if self.setting.thin else event
        self.begin(
            f"Stripe tells {self.named(event)}",
            settle_event(read_document(shape), self.shop),
            how,
            failed=lambda: self.post.append(event),
        )

    def _drop(self, move: Move) -> None:
        if self.post:
            self.say(f"never delivered: {self.named(self.post.pop(move.who % len(self.post)))}")

    def _lose_the_post(self, move: Move) -> None:
        self.lost_until = self.seconds + 6 * HOUR
        self.say("all events of the next six hours are lost")

    def _cancel(self, move: Move) -> None:
        buyer = move.who % BUYERS
        if self.sales[buyer]:
            id = self.sales[buyer][-1 - move.what % len(self.sales[buyer])]

            def cancelling() -> Procedure[Any]:
                sale: Checkout = yield verbs.checkout(id=id)
                return (yield from ending.cancel(sale, self.shop))

            self.begin(f"buyer {buyer} cancels {self._of_sale(id)}", cancelling(), move.how)

    def _of_sale(self, id: UUID) -> str:
        mine = [
            self.short(one["id"])
            for one in self.engine.sessions.values()
            if one["metadata"]["counterfoil_checkout"] == str(id)
        ]
        return f"the checkout of {', '.join(mine) or 'no session'}"

    def _redemption(self, move: Move) -> UUID | None:
        rows = self.ground.run("SELECT id FROM counterfoil.redemption ORDER BY reserved_at DESC").fetchall()
        return rows[move.who % len(rows)][0] if rows else None

    def _release(self, move: Move) -> None:
        id = self._redemption(move)
        if id:

            def releasing() -> Procedure[Any]:
                found = yield verbs.redemptions(id=id, most=1)
                return (yield from ending.release(found[0], self.shop, ReleaseReason.BY_HAND))

            self.begin(f"the seller releases redemption {id}", releasing(), move.how)

    def _give_a_place_back(self, move: Move) -> None:
        id = self._redemption(move)
        if id:
            claim = self._statement(verbs.redemptions(id=id, most=1))[0]
            outcome, _ = self._statement(verbs.return_place(claim=claim, shop=self.shop))
            self.say(f"the seller gives back the place of redemption {id}: {outcome}")
            if outcome == "returned":
                self.given_back.add(id)

    def _return_to_the_shop(self, move: Move) -> None:
        buyer = move.who % BUYERS
        if self.sales[buyer]:
            id = self.sales[buyer][-1 - move.what % len(self.sales[buyer])]

            def refreshing() -> Procedure[Any]:
                sale: Checkout = yield verbs.checkout(id=id)
                return (yield from ending.refresh(sale, self.shop))

            self.begin(f"buyer {buyer} returns to {self._of_sale(id)}", refreshing(), move.how)

    def _refund(self, move: Move) -> None:
        charges = [
            one
            for one in reversed(self.engine.charges.values())
            if one["paid"] and not one["disputed"] and one["amount_refunded"] < one["amount"]
        ]
        if charges:
            charge = charges[move.who % len(charges)]
            left = charge["amount"] - charge["amount_refunded"]
            amount = left // 2 if move.what % 3 == 2 else left
            money_back.refund(self.engine, charge, amount, None, {}, Cause())
            self.say(f"the seller refunds {amount} of {charge['amount']} of {self._of_charge(charge)}")

    def _of_charge(self, charge: objects.Document) -> str:
        paid = [one["id"] for one in self.engine.sessions.values() if one["payment_intent"] == charge["payment_intent"]]
        return self.short(paid[0])

    def _decide_a_dispute(self, move: Move) -> None:
        open_ones = [one for one in self.engine.disputes.values() if one["status"] not in ("won", "lost")]
        if open_ones:
            dispute, decided = open_ones[move.who % len(open_ones)], ("lost", "won")[move.what % 2]
            money_back.close_dispute(self.engine, dispute, decided, Cause())
            self.say(f"the dispute of {self._of_charge(self.engine.charges[dispute['charge']])} is {decided}")

    def _kill_a_process(self, move: Move) -> None:
        for task in [one for one in self.tasks if one.process == move.who % 2]:
            self.kill(task, "with its process")

    def _let_a_clock_jump(self, move: Move) -> None:
        seconds = (30, MINUTE, 3 * MINUTE, 5 * MINUTE)[move.what % 4]
        if move.who % 2 == 0 and self.ahead + seconds <= MOST_SKEW:
            self.ahead += seconds
            self.say(f"the database's clock jumps {seconds} s ahead")
        elif move.who % 2 == 1 and self.ahead - seconds >= -MOST_SKEW:
            self.ahead -= seconds
            self.pass_time(seconds)
            self.say(f"Stripe's clock jumps {seconds} s ahead")

    def _take_Stripe_down(self, move: Move) -> None:  # noqa: N802 (named after its move)
        self.down_until = self.seconds + HOUR
        self.say("Stripe is down for an hour")

    def _change_the_code(self, move: Move) -> None:
        code = self._statement(catalogue.code("A"))
        terms = catalogue.terms_of(code)
        match move.what % 3:
            case 0:
                terms = replace(terms, discount=PercentOff(Decimal(40)))
            case 1:
                terms = replace(terms, paused=not terms.paused)
            case _:
                terms = replace(terms, per_buyer_limit=2)
        self._statement(catalogue.change_code(code=code, terms=terms))
        self.say(f"code A is now {terms}")

    def _reconcile(self, move: Move) -> None:
        self.begin("everything is compared with Stripe", self.reconciling(), move.how)

    def reconciling(self) -> Procedure[None]:
        """Settle what Stripe says of every session there is."""
        after = None
        while True:
            page: SessionPage = yield ListSessions(
                created_since=datetime.fromtimestamp(self.start - DAY, UTC), after=after
            )
            for session in page.sessions:
                yield from settle_session(session, self.shop)
            if not page.more:
                return
            after = page.sessions[-1].id

    def _move_the_clock(self, move: Move) -> None:
        ends = sorted(
            one["expires_at"] - self.seconds
            for one in self.engine.sessions.values()
            if one["status"] == "open" and one["expires_at"] - self.seconds < DAY / 2
        )
        soonest = ends[0] if ends else 25.0
        by = (
            10, MINUTE, 27 * MINUTE, soonest - 20, soonest + 5, soonest + 9 * MINUTE + 5, 5 * MINUTE, 41 * MINUTE,
            2 * HOUR, DAY, 5 * DAY, 22 * DAY,
        )[move.what % 12]  # fmt: skip
        if by > 0:
            self.pass_time(by)
            self.say(f"{timedelta(seconds=round(by))} later")


def _redemption_of(session: objects.Document) -> str:
    return str(session["metadata"].get("counterfoil_redemption", ""))


def outcome(answer: Any) -> str:
    """What came of a step, where it says so."""
    if isinstance(answer, list) and answer:
        return f" -> {', '.join(type(one).__name__ for one in answer)}"
    said = getattr(answer, "outcome", None) or getattr(answer, "attached", None)
    if said is None and isinstance(answer, tuple) and answer and isinstance(answer[0], str):
        said = answer[0]
    if said is None and isinstance(answer, str):
        said = answer
    status = getattr(answer, "payment_status", None)
    if said is None and status:
        said = f"{answer.status}, {status}"
    return f" -> {said}" if said is not None else ""
