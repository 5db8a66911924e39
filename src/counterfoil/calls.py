"""What a procedure may ask of Stripe, as values. The drivers in ``stripe/`` carry them out with the real SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    """

    parameters: Mapping[str, Any]
    idempotency_key: str


@dataclass(frozen=True)
class RetrieveSession:
    """
    Read a session as it is now.

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
class Pause:
    """Let *seconds* pass: somebody else is at work on what we wait for."""

    seconds: float


StripeCall = CreateSession | RetrieveSession | ExpireSession


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


class ExpireRefused(StripeAnswer):
    """400: only open sessions can be expired."""


class SessionUnknown(StripeAnswer):
    """404: no such session."""
