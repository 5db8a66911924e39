"""`counterfoil webhook`."""

from __future__ import annotations

import json
from typing import Any

import click
import stripe

from counterfoil.cli import reach
from counterfoil.cli.trouble import NotFine
from counterfoil.service.fields import WebAddress
from counterfoil.service.settings import Settings, load
from counterfoil.settlement import EVENTS
from counterfoil.stripe.drivers import SyncStripe


@click.group("webhook")
def command() -> None:
    """
    The endpoint at Stripe that sends events here.

    Example: counterfoil webhook create --url https://shop.example.org/webhooks/stripe
    """


@command.command("create")
@click.option(
    "--url", type=reach.Field("url", WebAddress), help="Where events go; COUNTERFOIL_PUBLIC_URL/webhooks/stripe."
)
@reach.json_option
def create(url: str | None, as_json: bool) -> None:
    """
    Make the endpoint at Stripe: our list of events, at the API version this program speaks.

    The secret that signs its events is shown now and never again: it is STRIPE_WEBHOOK_SECRET.

    Example: counterfoil webhook create --url https://shop.example.org/webhooks/stripe
    """
    settings = _settings()
    wanted: Any = {
        "url": url or f"{settings.public_url.rstrip('/')}/webhooks/stripe",
        "enabled_events": list(EVENTS),
        "api_version": stripe.api_version,
        "description": "Counterfoil",
    }
    driver = SyncStripe(settings.stripe_secret_key, settings.clocks, settings.stripe_api_base)
    endpoints = driver.client.v1.webhook_endpoints
    try:
        others = [one.id for one in endpoints.list({"limit": 100}).data if one.url == wanted["url"]]
        made = endpoints.create(wanted)
    except stripe.StripeError as error:
        raise NotFine(f"Stripe did not make it: {error.user_message or error}") from None
    finally:
        driver.close()
    if as_json:
        shown = {name: made[name] for name in ("id", "url", "secret", "api_version", "enabled_events")}
        click.echo(json.dumps(shown, indent=2))
    else:
        click.echo(made.secret)
        click.echo(f"endpoint {made.id} sends to {made.url}: set STRIPE_WEBHOOK_SECRET now", err=True)
    if others:
        click.echo(f"Stripe sends there already by {', '.join(others)}: delete it once this one is heard", err=True)


def _settings() -> Settings:
    # The secret is what is being made, and neither a database nor a key of our own is needed for it.
    return load(
        STRIPE_WEBHOOK_SECRET="whsec_to_be_made",  # noqa: S106
        COUNTERFOIL_DATABASE_URL="postgresql://",
        COUNTERFOIL_SECRET_KEY="none is needed to make an endpoint",  # noqa: S106
    )
