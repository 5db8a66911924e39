"""
The state of the simulated account, and the only ways it changes.

Each transition is one method without a pause in it: a payment, an expiry and the clock that meet have exactly one
winner. Nothing here knows of HTTP.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from counterfoil.simulator import creating, objects
from counterfoil.simulator.clock import Clock
from counterfoil.simulator.objects import Document
from counterfoil.simulator.refusals import missing, not_open

#: What a card number does at the till.
CARDS = {
    "4242424242424242": "pays",
    "4000000000000002": "card_declined",
    "4000000000009995": "insufficient_funds",
    "4000000000000069": "expired_card",
}

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
    """

    base_url: str
    clock: Clock = field(default_factory=Clock)
    expiry_lag: timedelta = timedelta(seconds=2)
    delayed_for: timedelta = timedelta(days=4)
    floor: int = creating.FLOOR
    sessions: dict[str, Document] = field(default_factory=dict)
    intents: dict[str, Document] = field(default_factory=dict)
    charges: dict[str, Document] = field(default_factory=dict)
    events: dict[str, Document] = field(default_factory=dict)
    #: Called with each event that happens.
    on_event: Callable[[Document], None] = lambda _: None
    _due: list[tuple[float, int, Callable[[], object]]] = field(default_factory=list)
    _count: int = 0

    # --- time -------------------------------------------------------------------------------------------------

    def at(self, when: float, do: Callable[[], object]) -> None:
        """Do something when the clock gets there."""
        self._count += 1
        heapq.heappush(self._due, (when, self._count, do))

    def next_due(self) -> float | None:
        """When something happens next."""
        return self._due[0][0] if self._due else None

    def forget_due(self) -> None:
        """Nothing is to happen any more."""
        self._due.clear()

    def catch_up(self) -> None:
        """Let everything happen that is due by now, in its order."""
        while self._due and self._due[0][0] <= self.clock.seconds():
            heapq.heappop(self._due)[2]()

    # --- sessions ---------------------------------------------------------------------------------------------

    def create_session(self, given: dict[str, Any]) -> Document:
        """
        Make a session.

        Raises:
            ApiError: In Stripe's words.
        """
        self.catch_up()
        now = self.clock.stamp()
        amounts = creating.check(given, now, self.floor)
        id = objects.new_id("cs_test", 60)
        expires_at = int(given["expires_at"]) if "expires_at" in given else now + creating.CEILING
        made = objects.session(given, id=id, url=self._url(id), created=now, expires_at=expires_at, amounts=amounts)
        made["_line_items"] = [objects.line_item(item) for item in given["line_items"]]
        made["_intent_metadata"] = given.get("payment_intent_data", {}).get("metadata") or {}
        self.sessions[id] = made
        self.at(expires_at + self.expiry_lag.total_seconds(), lambda: self._expire(made, Cause()))
        return made

    def session(self, id: str) -> Document:
        """
        A session as it is now.

        Raises:
            ApiError: There is none.
        """
        self.catch_up()
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
            intent.update(status="canceled", canceled_at=self.clock.stamp(), cancellation_reason="automatic")
            self._happened("payment_intent.canceled", intent, cause)
        self._happened("checkout.session.expired", session, cause)

    # --- paying -----------------------------------------------------------------------------------------------

    def pay(self, id: str, card: str = "4242424242424242", email: str = "buyer@example.test") -> Document:
        """
        Press pay, with a card.

        Raises:
            Closed: The session is over. Nothing was charged.
            Declined: The card was refused.
            ApiError: There is no such session.
        """
        session = self._payable(id, email)
        if session["amount_total"] == 0:
            return self._complete(session, "no_payment_required")
        intent = self._intent(session)
        verdict = CARDS.get(card.replace(" ", ""), "card_declined")
        details = {"card": {"brand": "visa", "last4": card.replace(" ", "")[-4:]}, "type": "card"}
        taken = objects.charge(intent, details, self.clock.stamp(), paid=verdict == "pays")
        self.charges[taken["id"]] = taken
        intent["latest_charge"] = taken["id"]
        if verdict != "pays":
            taken.update(failure_code=verdict, failure_message="Your card was declined.")
            intent["last_payment_error"] = {"code": "card_declined", "decline_code": verdict, "type": "card_error"}
            self._happened("payment_intent.payment_failed", intent)
            raise Declined(verdict)
        self._succeed(intent, taken)
        return self._complete(session, "paid")

    def pay_delayed(self, id: str, ending: Ending = "succeeded", email: str = "buyer@example.test") -> Document:
        """
        Press pay, with a bank debit: complete and unpaid now, and its *ending* when the clock gets there.

        Raises:
            Closed: The session is over. Nothing was charged.
            ApiError: There is no such session.
        """
        session = self._payable(id, email)
        intent = self._intent(session)
        intent["status"] = "processing"
        self._happened("payment_intent.processing", intent)
        self._complete(session, "unpaid")
        self.at(self.clock.seconds() + self.delayed_for.total_seconds(), lambda: self.end_delayed(id, ending))
        return session

    def end_delayed(self, id: str, ending: Ending) -> Document:
        """A bank debit ends; without effect if it ended before."""
        session = self.sessions[id]
        intent = self.intents.get(session["payment_intent"] or "")
        if intent is None or intent["status"] != "processing":
            return session
        paid = ending == "succeeded"
        taken = objects.charge(intent, {"type": "bacs_debit"}, self.clock.stamp(), paid=paid)
        self.charges[taken["id"]] = taken
        intent["latest_charge"] = taken["id"]
        if paid:
            self._succeed(intent, taken)
            session["payment_status"] = "paid"
        else:
            intent["status"] = "requires_payment_method"
            self._happened("payment_intent.payment_failed", intent)
        self._happened(f"checkout.session.async_payment_{ending}", session)
        return session

    def _payable(self, id: str, email: str) -> Document:
        session = self.session(id)
        if session["status"] != "open" or session["expires_at"] <= self.clock.seconds():
            raise Closed(session["status"])
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

    def _intent(self, session: Document) -> Document:
        if session["payment_intent"] is None:
            made = objects.intent(session, dict(session["_intent_metadata"]), self.clock.stamp())
            self.intents[made["id"]] = made
            session["payment_intent"] = made["id"]
            self._happened("payment_intent.created", made)
        return self.intents[session["payment_intent"]]

    def _succeed(self, intent: Document, taken: Document) -> None:
        intent.update(status="succeeded", amount_received=intent["amount"], last_payment_error=None)
        self._happened("charge.succeeded", taken)
        self._happened("payment_intent.succeeded", intent)

    def _complete(self, session: Document, payment_status: str) -> Document:
        session.update(status="complete", payment_status=payment_status, url=None)
        self._happened("checkout.session.completed", session)
        return session

    # --- events -----------------------------------------------------------------------------------------------

    def _happened(self, type: str, about: Document, cause: Cause | None = None) -> None:
        cause = cause or Cause()
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
        self.catch_up()
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
