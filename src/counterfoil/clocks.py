"""
The chain of clocks, as one value.

Two expiries in two systems must stay in order, one of them not ours:

    Stripe's floor + what the create call may take  <=  session TTL  <  session TTL + a minute  <=  reservation TTL
    30 min           attempts x time-out + skew         31 min          for the event to arrive     40 min

The value refuses to exist out of order.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

#: How long the event of a session's end is given to arrive before its hold ends, at the least.
LEAST_MARGIN = timedelta(minutes=1)
#: Stripe's floor for `expires_at` (docs.stripe.com, Checkout Sessions: 30 minutes from creation).
STRIPE_FLOOR = timedelta(minutes=30)
#: Stripe's ceiling, which is refused itself (measured by others: exactly 24 hours answers 400).
STRIPE_CEILING = timedelta(hours=24)


class ClocksOutOfOrder(ValueError):
    """The chain is out of order. A line for each inequality that broke: its settings, both numbers, and the mend."""


@dataclass(frozen=True)
class Link:
    """One inequality of the chain, as `doctor` prints it. *settings*: those in it, the likeliest mend first."""

    settings: tuple[str, ...]
    label: str
    left: timedelta
    right: timedelta
    mend: str
    strict: bool = False

    @property
    def holds(self) -> bool:
        """Whether it is in order."""
        return self.left < self.right if self.strict else self.left <= self.right

    def __str__(self) -> str:
        """The inequality with its numbers."""
        sign = "<" if self.strict else "<="
        return f"{self.label}: {format_duration(self.left)} {sign} {format_duration(self.right)}"


@dataclass(frozen=True)
class Clocks:
    """
    How long everything may take.

    Attributes:
        session_ttl: How long a payment page lives.
        reservation_ttl: How long its hold lives.
        pending_ttl: How long a delayed payment keeps its place before it is asked about.
        stripe_floor: The least session that Stripe makes.
        stripe_timeout: Of one attempt to reach Stripe, connecting and reading together.
        stripe_attempts: How often a call is tried.
        allowed_skew: How far Stripe's clock and the database's may differ.
        lock_timeout: How long a buyer waits for the lock before *busy*.
    """

    session_ttl: timedelta = timedelta(minutes=31)
    reservation_ttl: timedelta = timedelta(minutes=40)
    pending_ttl: timedelta = timedelta(days=21)
    stripe_floor: timedelta = STRIPE_FLOOR
    stripe_timeout: timedelta = timedelta(seconds=10)
    stripe_attempts: int = 2
    allowed_skew: timedelta = timedelta(seconds=30)
    lock_timeout: timedelta = timedelta(seconds=3)

    def __post_init__(self) -> None:
        """Refuse to exist out of order."""
        for name, least in (
            ("session_ttl", 1),
            ("reservation_ttl", 1),
            ("pending_ttl", 1),
            ("stripe_floor", 1),
            ("stripe_timeout", 1),
            ("allowed_skew", 0),
            ("lock_timeout", 1),
        ):
            value: timedelta = getattr(self, name)
            if value < timedelta(seconds=least) or value % timedelta(seconds=1):
                raise ClocksOutOfOrder(
                    f"COUNTERFOIL_{name.upper()}={format_duration(value)}: whole seconds, {least} or more"
                )
        if isinstance(self.stripe_attempts, bool) or not 1 <= self.stripe_attempts <= 10:
            raise ClocksOutOfOrder(f"COUNTERFOIL_STRIPE_ATTEMPTS={self.stripe_attempts}: from 1 to 10")
        broken = [self._said(link) for link in self.chain() if not link.holds]
        # guard: the-chain-is-in-order
        if broken:
            raise ClocksOutOfOrder("\n".join(broken))

    def _said(self, link: Link) -> str:
        named = []
        for setting in link.settings:
            value = getattr(self, setting)
            shown = format_duration(value) if isinstance(value, timedelta) else value
            named.append(f"COUNTERFOIL_{setting.upper()}={shown}")
        return f"{', '.join(named)}: {link} does not hold; {link.mend}"

    @property
    def margin(self) -> timedelta:
        """How much earlier than its hold a session dies."""
        return self.reservation_ttl - self.session_ttl

    @property
    def call_budget(self) -> timedelta:
        """The most that one call may take: its attempts, and the SDK's longest pauses between them."""
        pauses = sum(min(0.5 * 2**retry, 5.0) for retry in range(self.stripe_attempts - 1))
        return self.stripe_timeout * self.stripe_attempts + timedelta(seconds=pauses)

    @property
    def floor_with_call(self) -> timedelta:
        """What must be left of a session when its create call begins."""
        return self.stripe_floor + self.call_budget + self.allowed_skew

    def session_expiry(self, hold_expires_at: datetime) -> datetime:
        """
        When the session of a hold dies: derived from the hold's own expiry, never from another reading of a clock.

        In whole seconds, rounded down, as Stripe counts.
        """
        return (hold_expires_at - self.margin).replace(microsecond=0)

    def chain(self) -> tuple[Link, ...]:
        """The inequalities, in the order of time."""
        return (
            Link(
                ("session_ttl", "stripe_floor", "stripe_timeout", "stripe_attempts", "allowed_skew"),
                "Stripe's floor + the create call + the allowed skew, within the session",
                self.floor_with_call,
                self.session_ttl,
                "raise COUNTERFOIL_SESSION_TTL, or lower COUNTERFOIL_STRIPE_TIMEOUT, COUNTERFOIL_STRIPE_ATTEMPTS or "
                "COUNTERFOIL_ALLOWED_SKEW",
            ),
            Link(
                ("reservation_ttl", "session_ttl"),
                "the session + a minute for its event, within the hold",
                self.session_ttl + LEAST_MARGIN,
                self.reservation_ttl,
                "raise COUNTERFOIL_RESERVATION_TTL, or lower COUNTERFOIL_SESSION_TTL",
            ),
            Link(
                ("session_ttl", "allowed_skew"),
                "the session, below Stripe's ceiling",
                self.session_ttl + self.allowed_skew,
                STRIPE_CEILING,
                "lower COUNTERFOIL_SESSION_TTL",
                strict=True,
            ),
            Link(
                ("pending_ttl", "reservation_ttl"),
                "the hold, within a delayed payment's deadline",
                self.reservation_ttl,
                self.pending_ttl,
                "raise COUNTERFOIL_PENDING_TTL",
            ),
        )

    def check_floor(self, *, api_base_is_stripe: bool) -> None:
        """
        Stripe's floor is Stripe's to say: another one is for another server.

        Raises:
            ClocksOutOfOrder: It is below Stripe's, and the calls go to Stripe.
        """
        if api_base_is_stripe and self.stripe_floor < STRIPE_FLOOR:
            raise ClocksOutOfOrder(
                f"COUNTERFOIL_STRIPE_FLOOR={format_duration(self.stripe_floor)}: Stripe makes no session below "
                f"{format_duration(STRIPE_FLOOR)}; remove it, or set STRIPE_API_BASE to the server that does"
            )


def steady() -> float:
    """Seconds that keep counting while the machine sleeps, where the system has such a clock."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


def parse_duration(text: str) -> timedelta:
    """
    A duration as settings write it: a whole number of ``s``, ``m``, ``h`` or ``d``, or of seconds.

    Raises:
        ValueError: It is none.
    """
    found = re.fullmatch(r"([0-9]{1,9})([smhd]?)", text.strip())
    if not found:
        raise ValueError(f"{text[:32]!r} is no duration: write a whole number of s, m, h or d, such as 40m")
    unit = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]]
    try:
        return timedelta(seconds=int(found[1]) * unit)
    except OverflowError:
        raise ValueError(f"{text!r} is longer than anything lasts") from None


def format_duration(duration: timedelta) -> str:
    """A duration as settings write it, in the largest units that fit."""
    rest = duration.total_seconds()
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if rest >= size:
            parts.append(f"{int(rest // size)}{unit}")
            rest %= size
    if rest or not parts:
        parts.append(f"{rest:g}s")
    return " ".join(parts)
