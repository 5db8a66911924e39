"""
Idempotency keys, as Stripe documents them for API v1: the first answer is kept once execution has begun, with its
status, also a 500; it is a photograph of that moment.
"""

from __future__ import annotations

from dataclasses import dataclass

from counterfoil.simulator.clock import Clock
from counterfoil.simulator.refusals import ApiError

KEPT = 24 * 60 * 60


@dataclass
class Stored:
    """A key, what it was first used for, and the answer once there is one."""

    request: str
    request_id: str
    since: float
    status: int | None = None
    body: bytes = b""


class Keys:
    """All keys of the account."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.stored: dict[str, Stored] = {}

    def begin(self, key: str, request: str, request_id: str) -> Stored | None:
        """
        Claim a key. None: go on. Otherwise the answer to replay.

        Raises:
            ApiError: It is in use right now, or was used with other parameters.
        """
        now = self._clock.seconds()
        known = self.stored.get(key)
        if known is None or (known.status is not None and known.since + KEPT <= now):
            self.stored[key] = Stored(request, request_id, now)
            return None
        if known.request != request:
            raise ApiError(
                400,
                "Keys for idempotent requests can only be used with the same parameters they were first used with. "
                f"Try using a key other than '{key}' if you meant to execute a different request.",
                type="idempotency_error",
            )
        if known.status is None:
            raise ApiError(
                409,
                "There is currently another in-progress request using this Idempotent Key (that probably means you "
                f"submitted twice, and the other request is still going through): {key}. Please try again later.",
                type="idempotency_error",
                code="idempotency_key_in_use",
            )
        return known

    def finish(self, key: str, status: int, body: bytes) -> None:
        """Keep the answer."""
        self.stored[key].status = status
        self.stored[key].body = body

    def forget(self, key: str) -> None:
        """Nothing was executed: the key is free."""
        self.stored.pop(key, None)
