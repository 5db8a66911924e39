"""
Settings: the environment, then a ``.env`` file in the current folder.

An impossible setting ends the program at start, with the variable's name, its value, the inequality and the mend.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from email.utils import parseaddr
from ipaddress import ip_network
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from counterfoil.clocks import Clocks, ClocksOutOfOrder, parse_duration
from counterfoil.guessing import WRONG_CODES_ALERT, WRONG_CODES_PER_ADDRESS, Limits
from counterfoil.mail import check_address
from counterfoil.model import HOLDS_PER_ADDRESS, Shop
from counterfoil.notices import Kind
from counterfoil.pace import LONGEST_WAIT, STRIPE_RATE, Pace
from counterfoil.service import provider
from counterfoil.service.provider import LOOPBACK, Provider

STRIPE_API = "https://api.stripe.com"


def _duration(value: Any) -> Any:
    return parse_duration(value) if isinstance(value, str) else value


def _several(value: Any) -> Any:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _database_url(text: str) -> str:
    try:
        conninfo_to_dict(text)
    except psycopg.ProgrammingError:
        raise ValueError("not a URL such as postgresql://user@127.0.0.1/counterfoil") from None
    return text


DatabaseUrl = Annotated[str, AfterValidator(_database_url)]
Duration = Annotated[timedelta, BeforeValidator(_duration)]
Several = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_several)]


class SettingsImpossible(Exception):
    """A setting that cannot be. One line per problem: the variable, its value, what is wrong, the mend."""


class Settings(BaseSettings):
    """What the service is told from outside. The names of the variables are those of the contract."""

    model_config = SettingsConfigDict(
        env_file=".env", extra="ignore", frozen=True, populate_by_name=True, env_ignore_empty=True
    )

    database_url: DatabaseUrl = Field(alias="COUNTERFOIL_DATABASE_URL")
    public_url: str = Field("http://127.0.0.1:8000", alias="COUNTERFOIL_PUBLIC_URL")
    secret_key: str = Field(alias="COUNTERFOIL_SECRET_KEY", min_length=32)
    admin_key: str | None = Field(None, alias="COUNTERFOIL_ADMIN_KEY", min_length=32)
    session_ttl: Duration = Field(timedelta(minutes=31), alias="COUNTERFOIL_SESSION_TTL")
    reservation_ttl: Duration = Field(timedelta(minutes=40), alias="COUNTERFOIL_RESERVATION_TTL")
    pending_ttl: Duration = Field(timedelta(days=21), alias="COUNTERFOIL_PENDING_TTL")
    stripe_floor: Duration = Field(timedelta(minutes=30), alias="COUNTERFOIL_STRIPE_FLOOR")
    stripe_timeout: Duration = Field(timedelta(seconds=10), alias="COUNTERFOIL_STRIPE_TIMEOUT")
    stripe_attempts: int = Field(2, alias="COUNTERFOIL_STRIPE_ATTEMPTS")
    stripe_rate: float = Field(STRIPE_RATE, alias="COUNTERFOIL_STRIPE_RATE", gt=0, le=10_000, allow_inf_nan=False)
    longest_wait: Duration = Field(LONGEST_WAIT, alias="COUNTERFOIL_LONGEST_WAIT")
    holds_per_address: int = Field(HOLDS_PER_ADDRESS, alias="COUNTERFOIL_HOLDS_PER_ADDRESS", ge=0, le=1_000_000)
    wrong_codes_per_address: int = Field(
        WRONG_CODES_PER_ADDRESS, alias="COUNTERFOIL_WRONG_CODES_PER_ADDRESS", ge=0, le=10_000
    )
    wrong_codes_alert: int = Field(WRONG_CODES_ALERT, alias="COUNTERFOIL_WRONG_CODES_ALERT", ge=0, le=100_000)
    guessing_pause: Duration = Field(
        timedelta(0), alias="COUNTERFOIL_GUESSING_PAUSE", ge=timedelta(0), le=timedelta(days=1)
    )
    allowed_skew: Duration = Field(timedelta(seconds=30), alias="COUNTERFOIL_ALLOWED_SKEW")
    lock_timeout: Duration = Field(timedelta(seconds=3), alias="COUNTERFOIL_LOCK_TIMEOUT")
    reconcile_interval: Duration = Field(timedelta(hours=1), alias="COUNTERFOIL_RECONCILE_INTERVAL")
    # How long our own events are kept; 0: for ever.
    event_retention: Duration = Field(timedelta(days=90), alias="COUNTERFOIL_EVENT_RETENTION")
    payment_methods: Several = Field(("card",), alias="COUNTERFOIL_PAYMENT_METHODS", min_length=1)
    storefront: Literal["on", "off"] = Field("on", alias="COUNTERFOIL_STOREFRONT")
    trusted_proxies: Several = Field((), alias="COUNTERFOIL_TRUSTED_PROXIES")
    log: Literal["text", "json"] = Field("text", alias="COUNTERFOIL_LOG")
    # How often a process looks for events to send; 0: this one sends none.
    webhook_interval: Duration = Field(timedelta(seconds=1), alias="COUNTERFOIL_WEBHOOK_INTERVAL")
    webhook_private: Literal["on", "off"] = Field("off", alias="COUNTERFOIL_WEBHOOK_PRIVATE")
    smtp_url: str | None = Field(None, alias="COUNTERFOIL_SMTP_URL")
    mail_from: str | None = Field(None, alias="COUNTERFOIL_MAIL_FROM")
    # How often a process looks for mails to write and to send; 0: this one does neither.
    mail_interval: Duration = Field(timedelta(seconds=1), alias="COUNTERFOIL_MAIL_INTERVAL")
    seller_mail: str | None = Field(None, alias="COUNTERFOIL_SELLER_MAIL")
    seller_notices: Several = Field(("threshold", "full", "year_end"), alias="COUNTERFOIL_SELLER_NOTICES")
    oidc_issuer: str | None = Field(None, alias="COUNTERFOIL_OIDC_ISSUER")
    oidc_client_id: str | None = Field(None, alias="COUNTERFOIL_OIDC_CLIENT_ID")
    oidc_client_secret: str | None = Field(None, alias="COUNTERFOIL_OIDC_CLIENT_SECRET")
    oidc_name: str | None = Field(None, alias="COUNTERFOIL_OIDC_NAME", max_length=60)
    database_pool: int = Field(20, alias="COUNTERFOIL_DATABASE_POOL", ge=1, le=200)
    # Not for production: a storm's scratch schema.
    database_schema: str = Field("counterfoil", alias="COUNTERFOIL_DATABASE_SCHEMA", pattern=r"^[a-z_][a-z0-9_]{0,62}$")
    stripe_secret_key: str = Field(alias="STRIPE_SECRET_KEY", pattern=r"^(sk|rk)_(test|live)_.+")
    webhook_secrets: Several = Field(alias="STRIPE_WEBHOOK_SECRET", min_length=1)
    stripe_api_base: str = Field(STRIPE_API, alias="STRIPE_API_BASE")

    @property
    def clocks(self) -> Clocks:
        """The chain of clocks, in order or not at all."""
        return Clocks(
            session_ttl=self.session_ttl,
            reservation_ttl=self.reservation_ttl,
            pending_ttl=self.pending_ttl,
            stripe_floor=self.stripe_floor,
            stripe_timeout=self.stripe_timeout,
            stripe_attempts=self.stripe_attempts,
            allowed_skew=self.allowed_skew,
            lock_timeout=self.lock_timeout,
        )

    @property
    def livemode(self) -> bool:
        """Whether the key moves real money."""
        return "_live_" in self.stripe_secret_key[:8]

    @property
    def shop(self) -> Shop:
        """What is the same for every checkout."""
        return Shop(
            clocks=self.clocks,
            livemode=self.livemode,
            payment_methods=self.payment_methods,
            holds_per_address=self.holds_per_address,
        )

    @property
    def guessing(self) -> Limits:
        """How much guessing of codes is put up with on public pages."""
        return Limits(per_address=self.wrong_codes_per_address, alert=self.wrong_codes_alert, pause=self.guessing_pause)

    @property
    def provider(self) -> Provider | None:
        """Who else says who somebody is, on the seller's pages."""
        return provider.given(self.oidc_issuer, self.oidc_client_id, self.oidc_client_secret, self.oidc_name)

    def new_pace(self) -> Pace:
        """A line for the calls that create sessions: one for each process."""
        return Pace(self.stripe_rate, self.longest_wait)

    @model_validator(mode="after")
    def _must_be_possible(self) -> Settings:
        self.clocks.check_floor(api_base_is_stripe=self.stripe_api_base.rstrip("/") == STRIPE_API)
        _check_url("COUNTERFOIL_PUBLIC_URL", self.public_url)
        _check_url("STRIPE_API_BASE", self.stripe_api_base)
        base = urlsplit(self.stripe_api_base)
        if base.scheme == "http" and base.hostname not in LOOPBACK:
            raise ValueError(
                f"STRIPE_API_BASE={self.stripe_api_base}: plain http only to this machine; use https, or 127.0.0.1"
            )
        if self.livemode and self.stripe_api_base.rstrip("/") != STRIPE_API:
            raise ValueError(
                f"STRIPE_API_BASE={self.stripe_api_base}: a live key goes to Stripe alone; use a test key, or remove it"
            )
        check_mail(self.smtp_url, self.mail_from)
        provider.given(self.oidc_issuer, self.oidc_client_id, self.oidc_client_secret)
        if self.seller_mail is not None:
            try:
                check_address(self.seller_mail)
            except ValueError as wrong:
                raise ValueError(f"COUNTERFOIL_SELLER_MAIL={self.seller_mail}: {wrong}") from None
        for kind in self.seller_notices:
            if kind not in ("none", *Kind):
                raise ValueError(
                    f"COUNTERFOIL_SELLER_NOTICES={kind}: not a notice; write none, or some of {', '.join(Kind)}"
                )
        for method in self.payment_methods:
            if not re.fullmatch(r"[a-z][a-z0-9_]*", method):
                raise ValueError(
                    f"COUNTERFOIL_PAYMENT_METHODS={method}: not a method as Stripe names it, such as card or bacs_debit"
                )
        for proxy in self.trusted_proxies:
            try:
                ip_network(proxy, strict=False)
            except ValueError:
                raise ValueError(
                    f"COUNTERFOIL_TRUSTED_PROXIES={proxy}: not an address or a network such as 10.0.0.0/8"
                ) from None
        return self


def load(**given: Any) -> Settings:
    """
    The settings of this process. *given*, by variable name, beats the environment.

    Raises:
        SettingsImpossible: With one line per problem.
    """
    with explained():
        return Settings(**given)


@contextmanager
def explained() -> Iterator[None]:
    """
    What is wrong with a setting, as a line for a person.

    Raises:
        SettingsImpossible: With one line per problem.
    """
    try:
        yield
    except ValidationError as error:
        raise SettingsImpossible("\n".join(_line(problem) for problem in error.errors())) from None
    except ClocksOutOfOrder as error:
        raise SettingsImpossible(str(error)) from None


def _line(problem: Any) -> str:
    name = str(problem["loc"][0]) if problem["loc"] else ""
    if problem["type"] == "missing":
        return f"{name} is not set: {_MENDS.get(name, 'set it in the environment or in .env')}"
    message = str(problem.get("ctx", {}).get("error", problem["msg"]))
    if not name:
        return message
    shown = "(hidden)" if is_secret(name) else str(problem["input"])
    return f"{name}={shown}: {message}"


def is_secret(variable: str) -> bool:
    """Whether the value of a variable is shown to nobody. A URL that one signs in with has a password in it."""
    return any(word in variable for word in ("KEY", "SECRET", "DATABASE_URL", "SMTP_URL"))


_MENDS = {
    "COUNTERFOIL_DATABASE_URL": "for example postgresql://user@127.0.0.1/counterfoil, or start with --embedded",
    "COUNTERFOIL_SECRET_KEY": "any string of 32 characters or more, kept secret and the same on all workers",
    "STRIPE_SECRET_KEY": "sk_test_… or sk_live_…, from Stripe's dashboard",
    "STRIPE_WEBHOOK_SECRET": "whsec_…, of the endpoint that sends events here",
}


def check_mail(smtp_url: str | None, mail_from: str | None) -> None:
    """
    Nothing, if mail can be sent like this, or is not sent at all.

    Raises:
        ValueError: With the variable, and what is wrong. The URL has a password in it, and is not repeated.
    """
    if mail_from is not None and not sender_address(mail_from):
        raise ValueError(
            f"COUNTERFOIL_MAIL_FROM={mail_from}: write an address, or a name and an address: "
            "Northgate Practice <places@shop.example>"
        )
    if smtp_url is None:
        return
    if not _is_smtp(smtp_url):
        raise ValueError(
            "COUNTERFOIL_SMTP_URL=(hidden): not a URL such as smtp://user:password@mail.example:587 (with STARTTLS) or "
            "smtps://mail.example"
        )
    if mail_from is None:
        raise ValueError(
            "COUNTERFOIL_MAIL_FROM is not set, and COUNTERFOIL_SMTP_URL is: set it to the address that mails come from"
        )


def _is_smtp(url: str) -> bool:
    try:
        parts = urlsplit(url)
        numbered = parts.port is None or parts.port > 0
    except ValueError:
        return False
    plain = parts.path in ("", "/") and not parts.query and not parts.fragment
    return parts.scheme in ("smtp", "smtps") and bool(parts.hostname) and numbered and plain


def sender_address(text: str) -> tuple[str, str] | None:
    """The name and the address of a sender, or None if it is none."""
    if any(ord(character) < 32 for character in text):
        return None
    name, address = parseaddr(text)
    try:
        return name, check_address(address)
    except ValueError:
        return None


def _check_url(name: str, value: str) -> None:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{name}={value}: not a URL such as https://shop.example.org")
