"""`counterfoil simulator`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click
import httpx
import uvicorn

from counterfoil.cli.trouble import NotFine
from counterfoil.clocks import parse_duration
from counterfoil.listening import listen, serve_until_told


@click.group("simulator", invoke_without_command=True)
@click.pass_context
@click.option("--port", default=12111, show_default=True, type=click.IntRange(0, 65535), help="0 for any free one.")
@click.option("--webhook-url", help="Where to send all events.")
@click.option("--webhook-secret", help="What signs them; made up and printed unless given.")
@click.option("--skew", default="0s", show_default=True, help="How far its clock is ahead of this machine's.")
@click.option("--rate-limit", type=click.IntRange(1), help="Calls of one kind a second; Stripe's limit is 25.")
@click.option("--state", type=click.Path(dir_okay=False, path_type=Path), help="A file to remember it all in.")
@click.option("--floor", default="30m", show_default=True, help="The least time to a session's expires_at.")
def command(
    context: click.Context,
    port: int,
    webhook_url: str | None,
    webhook_secret: str | None,
    skew: str,
    rate_limit: int | None,
    state: Path | None,
    floor: str,
) -> None:
    """
    The Stripe Checkout simulator alone: no database, no settings, any sk_test_ key, on 127.0.0.1.

    Example: counterfoil simulator --port 12111 --webhook-url http://127.0.0.1:8000/webhooks/stripe
    """
    if context.invoked_subcommand is not None:
        return
    from counterfoil.simulator import StateUnreadable, create_app
    from counterfoil.simulator.objects import new_id

    try:
        skewed, least = parse_duration(skew), parse_duration(floor)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    try:
        listening = listen("127.0.0.1", port)
    except OSError as error:
        raise NotFine(f"port {port} cannot be had ({error.strerror}): give another with --port") from None
    base_url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    secret = webhook_secret or new_id("whsec", 32)
    try:
        app = create_app(
            base_url,
            skew=skewed,
            floor=least,
            webhook_url=webhook_url,
            webhook_secret=secret,
            rate_limit=rate_limit,
            state=state,
        )
    except StateUnreadable as unreadable:
        raise NotFine(str(unreadable)) from None
    click.echo(f"STRIPE_API_BASE={base_url}")
    if webhook_url:
        click.echo(f"STRIPE_WEBHOOK_SECRET={secret}")
    click.echo(f"look at it: {base_url}/_simulator/")
    serve_until_told(uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)), listening)


@command.command("advance")
@click.argument("by")
@click.option("--at", "base_url", default="http://127.0.0.1:12111", show_default=True, help="Where it listens.")
def advance(by: str, base_url: str) -> None:
    """
    Move the clock of a running simulator forward, and wait until what fell due was delivered.

    Example: counterfoil simulator advance 31m
    """
    try:
        seconds = parse_duration(by).total_seconds()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    try:
        answer = httpx.post(f"{base_url}/_simulator/clock", json={"seconds": seconds}, timeout=300, trust_env=False)
        answer.raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NotFine(f"no simulator answers at {base_url} ({error}): say where it listens with --at") from None
    click.echo(datetime.fromtimestamp(answer.json()["now"], UTC).strftime("it is %Y-%m-%d %H:%M:%S UTC there"))
