"""
The state of the simulated account, and the only ways it changes.

Each transition is one method without a pause in it: a payment, an expiry and the clock that meet have exactly one
winner. Nothing here knows of HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from counterfoil.simulator import creating, objects, reductions
from counterfoil.simulator.agenda import Agenda
from counterfoil.simulator.clock import Clock
from counterfoil.simulator.objects import Document
from counterfoil.simulator.refusals import ApiError, missing, not_open

#: What a card number does at the till (docs.stripe.com/testing). Any other is declined.
CARDS = {
    "4242424242424242": "pays",
    "4000000000007726": "pays",  # a refund of it is pending first
    "4000000000005126": "pays",  # a refund of it fails later
    "4000000000000259": "pays",  # and is disputed at once
    "4000002760003184": "authenticate",
    "4000000000003220": "authenticate",
    "4000000000000002": "card_declined",
    "4000000000009995": "insufficient_funds",
    "4000000000000069": "expired_card",
}
DISPUTED = "4000000000000259"

Ending = Literal["succeeded", "failed"]


@dataclass(frozen=True)
class Cause:
    """The API call that an event comes from; none for what happens by itself."""

    request_id: str | None = None
    key: str | None = None


class Declined(Exception):
    """The card was refused; the session stays open."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Challenged(Exception):
    """The card's bank wants to see its holder first: the session stays open."""


class Closed(Exception):
    """The session is not open any more, so nothing was charged."""


@dataclass
class Engine:
    """
    Sessions, payments and events of one account.

    Attributes:
        expiry_lag: How long after ``expires_at`` a session expires by itself.
        delayed_for: How long a delayed payment takes.
        floor: The least time to ``expires_at``, in seconds.
        late_challenge_wins: Whether a challenge that was begun before ``expires_at`` and approved after it pays all the
            same. Stripe does not document which; off, an expired session is over.
        counted_again: Whether a coupon that filled up meanwhile is refused when the buyer presses pay. Not documented
            either; on, no coupon is used more often than it says.
        changed: Something happened since this was last set to False.
    """

    base_url: str
    clock: Clock = field(default_factory=Clock)
    expiry_lag: timedelta = timedelta(seconds=2)
    delayed_for: timedelta = timedelta(days=4)
    floor: int = creating.FLOOR
    late_challenge_wins: bool = False
    counted_again: bool = True
    changed: bool = False
    sessions: dict[str, Document] = field(default_factory=dict)
    intents: dict[str, Document] = field(default_factory=dict)
    charges: dict[str, Document] = field(default_factory=dict)
    refunds: dict[str, Document] = field(default_factory=dict)
    disputes: dict[str, Document] = field(default_factory=dict)
    coupons: dict[str, Document] = field(default_factory=dict)
    promotion_codes: dict[str, Document] = field(default_factory=dict)
    customers: dict[str, Document] = field(default_factory=dict)
    events: dict[str, Document] = field(default_factory=dict)
    #: Called with each event that happens.
    on_event: Callable[[Document], None] = lambda _: None
    agenda: Agenda = field(init=False)

    def __post_init__(self) -> None:
        """What falls due of sessions."""
        self.agenda = Agenda(
            self.clock,
            {"expire": lambda session: self._expire(self.sessions[session], Cause()), "end_delayed": self.end_delayed},
        )

    # --- sessions ---------------------------------------------------------------------------------------------

    def create_session(self, given: dict[str, Any]) -> Document:
        """
        Make a session.

        Raises:
            ApiError: In Stripe's words.
        """
        self.agenda.catch_up()
        now = self.clock.stamp()
        picked = reductions.chosen(given, self.coupons, self.promotion_codes, self.clock.seconds())

        def reduce(subtotal: int, currency: str) -> tuple[int, list[Document]]:
            if picked is None:
                return 0, []
            coupon, code = picked
            entry = {"coupon": None if code else coupon["id"], "promotion_code": code["id"] if code else None}
            return reductions.taken_off(coupon, subtotal, currency), [entry]

        amounts = creating.check(given, now, self.floor, reduce)
        if given.get("customer") and given["customer"] not in self.customers:
            raise missing("customer", given["customer"], "customer")
        id = objects.new_id("cs_test", 60)
        expires_at = int(given["expires_at"]) if "expires_at" in given else now + creating.CEILING
        made = objects.session(given, id=id, url=self._url(id), created=now, expires_at=expires_at, amounts=amounts)
        made["_line_items"] = [objects.line_item(item, now) for item in given["line_items"]]
        reductions.spread(amounts["discount"], made["_line_items"])
        made["_intent_metadata"] = given.get("payment_intent_data", {}).get("metadata") or {}
        self.sessions[id] = made
        self.agenda.at(expires_at + self.expiry_lag.total_seconds(), "expire", id)
        return made

    def session(self, id: str) -> Document:
        """
        A session as it is now.

        Raises:
            ApiError: There is none.
        """
        self.agenda.catch_up()
        if id not in self.sessions:
            raise missing("checkout.session", id, "session")
        return self.sessions[id]

    def expire_session(self, id: str, cause: Cause) -> Document:
        """
        End an open session.

        Raises:
            ApiError: There is none, or it is not open.
        """
        found = self.session(id)
        if found["status"] != "open":
            raise not_open(found["status"])
        self._expire(found, cause)
        return found

    def _expire(self, session: Document, cause: Cause) -> None:
        if session["status"] != "open":
            return
        session.update(status="expired", url=None)
        intent = self.intents.get(session["payment_intent"] or "")
        if intent:
            intent.update(
                status="canceled", canceled_at=self.clock.stamp(), cancellation_reason="automatic", next_action=None
            )
            self.happened("payment_intent.canceled", intent, cause)
        self.happened("checkout.session.expired", session, cause)

    # --- paying -----------------------------------------------------------------------------------------------

    def pay(self, id: str, card: str = "4242424242424242", email: str = "buyer@example.test") -> Document:
        """
        Press pay, with a card.

        Raises:
            Closed: The session is over. Nothing was charged.
            Declined: The card was refused.
            Challenged: Its bank asks first: go on with `answer_challenge`.
            ApiError: There is no such session.
        """
        session = self._payable(id, email)
        if session["amount_total"] == 0:
            return self._complete(session, "no_payment_required")
        number = card.replace(" ", "")
        intent = self._intent(session)
        # Another card, while the bank of the first still asks: nobody waits for that answer any more.
        intent.pop("_card", None)
        verdict = CARDS.get(number, "card_declined")
        if verdict == "authenticate":
            intent["status"] = "requires_action"
            intent["next_action"] = {"type": "use_stripe_sdk", "use_stripe_sdk": {}}
            intent["_card"] = number
            self.happened("payment_intent.requires_action", intent)
            raise Challenged
        return self._charge(session, intent, number, verdict)

    def answer_challenge(self, id: str, *, approve: bool) -> Document:
        """
        The card's holder has answered their bank.

        Raises:
            Closed: The session is over, or no challenge is open. Nothing was charged.
            Declined: They denied it.
            ApiError: There is no such session.
        """
        session = self.session(id)
        intent = self.intents.get(session["payment_intent"] or "")
        if intent is None or not intent.get("_card"):
            raise Closed(session["status"])
        over = session["status"] != "open" or session["expires_at"] <= self.clock.seconds()
        late = over and session["status"] != "complete" and self.late_challenge_wins
        if over and not late:
            raise Closed(session["status"])
        number = intent.pop("_card")
        intent["next_action"] = None
        if late:
            intent.update(canceled_at=None, cancellation_reason=None)
        return self._charge(session, intent, number, "pays" if approve else "authentication_required")

    def _charge(self, session: Document, intent: Document, number: str, verdict: str) -> Document:
        details = {"card": {"brand": "visa", "last4": number[-4:]}, "type": "card"}
        taken = objects.charge(intent, details, self.clock.stamp(), paid=verdict == "pays")
        taken["_card"] = number
        self.charges[taken["id"]] = taken
        intent["latest_charge"] = taken["id"]
        if verdict != "pays":
            taken.update(failure_code=verdict, failure_message="Your card was declined.")
            intent.update(
                status="requires_payment_method",
                last_payment_error={"code": "card_declined", "decline_code": verdict, "type": "card_error"},
            )
            self.happened("charge.failed", taken)
            self.happened("payment_intent.payment_failed", intent)
            raise Declined(verdict)
        self._succeed(intent, taken)
        completed = self._complete(session, "paid")
        if number == DISPUTED:
            self._dispute(taken)
        return completed

    def _dispute(self, charge: Document) -> None:
        made = objects.dispute(charge, self.clock.stamp())
        self.disputes[made["id"]] = made
        charge["disputed"] = True
        self.happened("charge.dispute.created", made)
        self.happened("charge.dispute.funds_withdrawn", made)

    def pay_delayed(self, id: str, ending: Ending = "succeeded", email: str = "buyer@example.test") -> Document:
        """
        Press pay, with a bank debit: complete and unpaid now, and its *ending* when the clock gets there.

        Raises:
            Closed: The session is over. Nothing was charged.
            ApiError: There is no such session.
        """
        session = self._payable(id, email)
        if session["amount_total"] == 0:
            return self._complete(session, "no_payment_required")
        intent = self._intent(session)
        intent.pop("_card", None)
        intent["status"] = "processing"
        self.happened("payment_intent.processing", intent)
        self._complete(session, "unpaid")
        self.agenda.after(self.delayed_for.total_seconds(), "end_delayed", id, ending)
        return session

    def end_delayed(self, id: str, ending: Ending) -> Document:
        """A bank debit ends; without effect if it ended before."""
        session = self.sessions[id]
        intent = self.intents.get(session["payment_intent"] or "")
        if intent is None or intent["status"] != "processing":
            return session
        paid = ending == "succeeded"
        taken = objects.charge(intent, {"type": "bacs_debit"}, self.clock.stamp(), paid=paid)
        taken["_card"] = ""
        self.charges[taken["id"]] = taken
        intent["latest_charge"] = taken["id"]
        if paid:
            self._succeed(intent, taken)
            session["payment_status"] = "paid"
        else:
            intent["status"] = "requires_payment_method"
            self.happened("payment_intent.payment_failed", intent)
        self.happened(f"checkout.session.async_payment_{ending}", session)
        return session

    def _payable(self, id: str, email: str) -> Document:
        session = self.session(id)
        if session["status"] != "open" or session["expires_at"] <= self.clock.seconds():
            raise Closed(session["status"])
        if self.counted_again:
            self._count_again(session)
        session["customer_details"] = {
            "address": None,
            "business_name": None,
            "email": email,
            "individual_name": None,
            "name": None,
            "phone": None,
            "tax_exempt": "none",
            "tax_ids": [],
        }
        return session

    def _count_again(self, session: Document) -> None:
        now = self.clock.seconds()
        for entry in session["discounts"]:
            code = self.promotion_codes.get(entry["promotion_code"] or "")
            coupon = self.coupons.get(entry["coupon"] or "")
            good = reductions.usable(code, self.coupons, now) if code else coupon and reductions.is_valid(coupon, now)
            if not good:
                raise Declined("coupon_expired")

    def make_customer(self, given: Document, metadata: Document, cause: Cause | None = None) -> Document:
        """A new customer."""
        made = objects.customer(given, metadata, self.clock.stamp())
        self.customers[made["id"]] = made
        self.happened("customer.created", made, cause)
        return made

    def _intent(self, session: Document) -> Document:
        if session["payment_intent"] is None:
            made = objects.intent(session, dict(session["_intent_metadata"]), self.clock.stamp())
            self.intents[made["id"]] = made
            session["payment_intent"] = made["id"]
            self.happened("payment_intent.created", made)
        return self.intents[session["payment_intent"]]

    def _succeed(self, intent: Document, taken: Document) -> None:
        intent.update(status="succeeded", amount_received=intent["amount"], last_payment_error=None)
        self.happened("charge.succeeded", taken)
        self.happened("payment_intent.succeeded", intent)

    def _complete(self, session: Document, payment_status: str) -> Document:
        # Stripe makes a customer when it is asked to, and for every order that costs nothing.
        wanted = session["customer_creation"] == "always" or payment_status == "no_payment_required"
        if session["customer"] is None and wanted:
            details = session["customer_details"] or {}
            session["customer"] = self.make_customer({"email": details.get("email")}, {})["id"]
        for entry in session["discounts"]:
            code = self.promotion_codes.get(entry["promotion_code"] or "")
            coupon = self.coupons.get(code["promotion"]["coupon"] if code else entry["coupon"])
            for counted in (code, coupon):
                if counted is not None:
                    counted["times_redeemed"] += 1
        session.update(status="complete", payment_status=payment_status, url=None)
        self.happened("checkout.session.completed", session)
        return session

    def apply_promotion(self, id: str, typed: str) -> Document:
        """
        A buyer types a promotion code on the payment page.

        Raises:
            Closed: The session is over, or takes no codes.
            Declined: The code is not good.
            ApiError: There is no such session.
        """
        session = self.session(id)
        if session["status"] != "open" or not session["allow_promotion_codes"]:
            raise Closed(session["status"])
        now = self.clock.seconds()
        for code in self.promotion_codes.values():
            good = code["active"] and reductions.usable(code, self.coupons, now)
            if good and code["code"].lower() == typed.strip().lower():
                coupon = self.coupons[code["promotion"]["coupon"]]
                try:
                    off = reductions.taken_off(coupon, session["amount_subtotal"], session["currency"])
                except ApiError:
                    break
                session["amount_total"] = session["amount_subtotal"] - off
                session["total_details"] = session["total_details"] | {"amount_discount": off}
                session["discounts"] = [{"coupon": None, "promotion_code": code["id"]}]
                reductions.spread(off, session["_line_items"])
                return session
        raise Declined("code_unknown")

    # --- events -----------------------------------------------------------------------------------------------

    def happened(self, type: str, about: Document, cause: Cause | None = None) -> None:
        """Tell that something happened: an event with the object as it is now."""
        cause = cause or Cause()
        self.changed = True
        made = objects.event(
            type,
            _copied(objects.shown(about)),
            created=self.clock.stamp(),
            api_version=objects.API_VERSION,
            request_id=cause.request_id,
            key=cause.key,
        )
        self.events[made["id"]] = made
        self.on_event(made)

    # --- reading ----------------------------------------------------------------------------------------------

    def newest(self, kind: Literal["sessions", "events"]) -> Iterator[Document]:
        """All of a kind, newest first."""
        self.agenda.catch_up()
        found: dict[str, Document] = getattr(self, kind)
        yield from reversed(found.values())

    def _url(self, id: str) -> str:
        # Stripe's are hundreds of characters long, with a fragment: whoever stores them must have room.
        return f"{self.base_url}/pay/{id}#{'fidkdWxOYHwnPyd1blpxYHZxWjA0' * 8}"


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value
