"""`counterfoil doctor`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import click
import psycopg
import stripe
from rich.console import Console
from rich.table import Table

from counterfoil import movable_clock, pricing, schema, verbs
from counterfoil.cli import reach
from counterfoil.cli.trouble import in_one_line
from counterfoil.clocks import format_duration
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service import seller
from counterfoil.service.settings import Settings, load
from counterfoil.stripe.drivers import SyncStripe


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; *mend* says what to do if it is wrong."""

    about: str
    found: str
    fine: bool
    mend: str = ""


@click.command("doctor")
@reach.json_option
@reach.embedded_option
def command(as_json: bool, use_embedded: bool) -> int:
    """
    Check the chain of clocks, the database and Stripe. Exit 1 if anything is wrong, with the mend.

    Example: counterfoil doctor
    """
    with reach.database_url(use_embedded=use_embedded) as url:
        findings = list(_findings(load(COUNTERFOIL_DATABASE_URL=url)))
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2, ensure_ascii=False))
    else:
        table = Table(box=None, pad_edge=False, show_header=False)
        for finding in findings:
            mark = "[green]ok[/]" if finding.fine else "[red]no[/]"
            table.add_row(mark, finding.about, finding.found + ("" if finding.fine else f"\n[yellow]{finding.mend}[/]"))
        Console().print(table)
    return 0 if all(finding.fine for finding in findings) else 1


def _findings(settings: Settings) -> Iterator[Finding]:
    clocks = settings.clocks
    for link in clocks.chain():
        sign = "<" if link.strict else "<="
        yield Finding(
            link.label, f"{format_duration(link.left)} {sign} {format_duration(link.right)}", link.holds, link.mend
        )
    yield Finding(
        "call budget",
        f"{clocks.stripe_attempts} attempts of {format_duration(clocks.stripe_timeout)} and the pauses between them: "
        f"{format_duration(clocks.call_budget)}",
        fine=True,
    )
    yield Finding("rounding of percentages", _rounding(), fine=True)
    yield Finding("webhook secrets", f"{len(settings.webhook_secrets)} known", fine=True)
    yield from _database(settings)
    yield from _stripe(settings)


def _rounding() -> str:
    """The rule, with the currencies that it is not the minor unit for."""
    coarser: dict[int, list[str]] = {}
    for currency in sorted(pricing.CURRENCIES):
        coarser.setdefault(pricing.step(currency), []).append(currency)
    coarser.pop(1)
    others = "".join(f"; to {unit} of them in {', '.join(coarser[unit])}" for unit in sorted(coarser))
    return f"half up, to what Stripe charges: the minor unit{others}"


def _database(settings: Settings) -> Iterator[Finding]:
    try:
        opened = psycopg.connect(settings.database_url, autocommit=True, connect_timeout=10)
    except psycopg.OperationalError as error:
        found = f"cannot be reached: {in_one_line(error)}"
        yield Finding("PostgreSQL", found, fine=False, mend="check COUNTERFOIL_DATABASE_URL")
        return
    with opened as connection:
        number = connection.info.server_version
        yield Finding(
            "PostgreSQL", f"{number // 10000}.{number % 10000}", number >= 150000, "use PostgreSQL 15 or later"
        )
        isolation = _one(connection, "SELECT current_setting('default_transaction_isolation')")
        yield Finding(
            "isolation",
            isolation,
            isolation == "read committed",
            "ALTER ROLE … SET default_transaction_isolation = 'read committed'",
        )
        version = schema.version(connection, settings.database_schema)
        yield Finding("schema", str(version.number), version.behind is None, version.behind or "")
        before = datetime.now(UTC)
        there = _one(connection, "SELECT clock_timestamp()")
        skew = there - before
        yield Finding(
            "clock of the database against this machine's",
            f"{skew.total_seconds():+.3f} s",
            abs(skew) <= settings.allowed_skew,
            "set both by NTP: the database's clock decides, and events are checked with this machine's",
        )
        if version.number == 0:
            return
        movable = movable_clock.is_installed(connection, settings.database_schema)
        yield Finding(
            "clock that decides",
            "a movable one" if movable else "the database's",
            not movable or not settings.livemode,
            "this is a demo's or a test's database: sell from another",
        )
        host = Psycopg(connection, settings.database_schema)
        mode = host.run(seller.mode())
        yield Finding(
            "Stripe mode of this database",
            "none yet" if mode is None else seller.name(mode),
            mode is None or mode == settings.livemode,
            f"STRIPE_SECRET_KEY is of the {seller.name(settings.livemode)} mode: use the other, or another database",
        )
        drift = host.run(verbs.recount())
        yield Finding(
            "recount of every allocation",
            "; ".join(drift) or "counters and rows agree",
            not drift,
            "report this: it is an error of ours. Until then count by the rows",
        )


def _stripe(settings: Settings) -> Iterator[Finding]:
    driver = SyncStripe(settings.stripe_secret_key, settings.clocks, settings.stripe_api_base)
    try:
        answer = driver.client.v1.checkout.sessions.list({"limit": 1})
    except stripe.AuthenticationError as error:
        yield Finding("Stripe", str(error.user_message), fine=False, mend="check STRIPE_SECRET_KEY")
        return
    except stripe.StripeError as error:
        yield Finding(
            "Stripe",
            f"cannot be reached: {error.user_message}",
            fine=False,
            mend="check the network and STRIPE_API_BASE",
        )
        return
    finally:
        driver.close()
    headers: Any = answer.last_response.headers if answer.last_response else {}
    yield Finding("Stripe", f"answers at {settings.stripe_api_base}", fine=True)
    yield Finding("API version", f"{stripe.api_version} ({seller.name(settings.livemode)} mode)", fine=True)
    said = headers.get("date")
    if said:
        there = datetime.strptime(said, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
        skew = there - datetime.now(UTC)
        yield Finding(
            "Stripe's clock against this machine's",
            f"{skew.total_seconds():+.0f} s",
            abs(skew) <= settings.allowed_skew + timedelta(seconds=1),
            "set this machine's clock by NTP",
        )


def _one(connection: psycopg.Connection[Any], query: Any) -> Any:
    row = connection.execute(query).fetchone()
    return row[0] if row else None
