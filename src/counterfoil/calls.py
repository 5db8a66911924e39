"""What a procedure may ask of Stripe, as values. The drivers in ``stripe/`` carry them out with the real SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class CreateSession:
    """
    Create a Checkout Session.

    Raises (when carried out):
        StripeUnavailable: Whatever went wrong and is none of the following.
        StillCreating: Another call with this key is at work.
        KeyReused: The key was used with other parameters before.
        BelowFloor: Stripe found ``expires_at`` too near.
        RateLimited: Stripe takes no more calls just now.
    """

    parameters: Mapping[str, Any]
    idempotency_key: str


@dataclass(frozen=True)
class RetrieveSession:
    """
    Read a session as it is now, with what became of its payment.

    Raises (when carried out):
        SessionUnknown: Stripe has no such session.
        StripeUnavailable: Stripe could not say.
    """

    session_id: str


@dataclass(frozen=True)
class ExpireSession:
    """
    End an open session.

    Raises (when carried out):
        ExpireRefused: It is not open any more: ask again with `RetrieveSession`, and believe that.
        SessionUnknown: Stripe has no such session.
        StripeUnavailable: Stripe could not say.
    """

    session_id: str


@dataclass(frozen=True)
class ListSessions:
    """
    One page of sessions as they are now, newest first: those of a payment, or those created since a moment.

    Answers a `SessionPage`.

    Raises (when carried out):
        StripeUnavailable: Stripe could not say.
    """

    payment_intent: str | None = None
    created_since: datetime | None = None
    after: str | None = None


@dataclass(frozen=True)
class ListDisputes:
    """
    The disputes of a payment. Answers a tuple of `Dispute`.

    Raises (when carried out):
        StripeUnavailable: Stripe could not say.
    """

    payment_intent: str


@dataclass(frozen=True)
class PaymentOf:
    """
    The id of the payment intent that a charge, a refund or a dispute belongs to; None if it has none.

    Raises (when carried out):
        SessionUnknown: Stripe has no such object.
        StripeUnavailable: Stripe could not say.
    """

    object_id: str
    kind: str


@dataclass(frozen=True)
class ListEvents:
    """
    One page of the events of these types since a moment, newest first. Answers an `EventPage`.

    Stripe keeps them for 30 days (docs.stripe.com/api/events).

    Raises (when carried out):
        StripeUnavailable: Stripe could not say.
    """

    types: tuple[str, ...]
    created_since: datetime
    after: str | None = None


@dataclass(frozen=True)
class Pause:
    """Let *seconds* pass: somebody else is at work on what we wait for."""

    seconds: float


StripeCall = CreateSession | RetrieveSession | ExpireSession | ListSessions | ListDisputes | PaymentOf | ListEvents


@dataclass(frozen=True)
class Together:
    """Carry out several calls at the same time. Answers a list: for each call what it answered, or what it raised."""

    calls: tuple[StripeCall, ...]


class StripeAnswer(Exception):
    """An answer of Stripe's that a procedure acts on. None of them reaches a caller."""

    def __init__(self, message: str | None = None, request_id: str | None = None) -> None:
        super().__init__(message)
        self.request_id = request_id


class StillCreating(StripeAnswer):
    """409: a call with the same idempotency key is in progress."""


class KeyReused(StripeAnswer):
    """400: the idempotency key was used with other parameters."""


class BelowFloor(StripeAnswer):
    """400: ``expires_at`` is nearer than Stripe's 30 minutes."""


class RateLimited(StripeAnswer):
    """429: more calls than Stripe takes. Nothing was done, and the same call may be made again later."""


class ExpireRefused(StripeAnswer):
    """400: only open sessions can be expired."""


class SessionUnknown(StripeAnswer):
    """404: no such session."""
