"""`counterfoil demo`."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import sys
import webbrowser
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import psycopg
from rich.console import Console
from rich.panel import Panel

from counterfoil import catalogue, movable_clock, portal, schema
from counterfoil.audit import Actor
from counterfoil.cli import reach
from counterfoil.cli.serve import check_database, run
from counterfoil.cli.trouble import NotFine
from counterfoil.demo import sample
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.listening import listen
from counterfoil.service import letters
from counterfoil.service.settings import load
from counterfoil.simulator import run_in_thread
from counterfoil.stripe.drivers import SyncStripe
from counterfoil.tokens import new_token


@click.command("demo")
@click.option("--port", type=click.IntRange(0, 65535), help="Of the shop; 8000, or the next free one, unless given.")
@click.option("--fresh", is_flag=True, help="Begin with new sample data; what the demo held is dropped.")
@click.option("--no-open", is_flag=True, help="Do not open the shop in a browser.")
def command(port: int | None, fresh: bool, no_open: bool) -> None:
    """
    Everything on this machine, with sample data and nothing installed beside it. Ctrl-C ends it all.

    Example: counterfoil demo --no-open
    """
    console = Console()
    with ExitStack() as stack:
        listening = stack.enter_context(_listen(port))
        shop_url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        console.print("starting PostgreSQL …", style="dim")
        url = stack.enter_context(reach.database_url(otherwise_embedded=True))
        connection = stack.enter_context(psycopg.connect(url, autocommit=True))
        ahead = _prepare(connection, fresh=fresh)
        secret = f"whsec_{secrets.token_hex(16)}"
        simulator = stack.enter_context(
            run_in_thread(
                port=_free_after(listening),
                secret=secret,
                skew=ahead,
                on_move=lambda moved: movable_clock.set_ahead(connection, moved),
            )
        )
        admin_key = f"cf_demo_{secrets.token_urlsafe(24)}"
        settings = load(
            COUNTERFOIL_DATABASE_URL=url,
            COUNTERFOIL_PUBLIC_URL=shop_url,
            COUNTERFOIL_SECRET_KEY=_secret_key(connection),
            COUNTERFOIL_ADMIN_KEY=admin_key,
            STRIPE_SECRET_KEY="sk_test_demo",  # noqa: S106 (any test key opens the simulator)
            STRIPE_WEBHOOK_SECRET=secret,
            STRIPE_API_BASE=simulator.base_url,
            COUNTERFOIL_WEBHOOK_PRIVATE="on",
        )
        check_database(settings)
        host = Psycopg(connection, acting=lambda: Actor("command", "counterfoil demo"))
        if not sample.is_there(host):
            stripe = SyncStripe(settings.stripe_secret_key, settings.clocks, settings.stripe_api_base)
            sample.make(host, stripe, simulator, settings.shop)
            stripe.close()
        simulator.add_endpoint(f"{shop_url}/webhooks/stripe")
        token = new_token()
        school = host.run(catalogue.institution(sample.SCHOOL))
        host.run(portal.invite(institution=school.id, token=token))
        portal_link = letters.link_of(token, shop_url)
        console.print(_what_to_try(shop_url, simulator.base_url, admin_key))
        # Longer than a line of the panel: broken in two, no terminal would open it.
        console.print(f"A school's page, opened once by: {portal_link}", soft_wrap=True)
        if not no_open:
            webbrowser.open(shop_url)
        run(settings, listening)
        console.print("ending …", style="dim")


def _prepare(connection: psycopg.Connection[Any], *, fresh: bool) -> timedelta:
    """A schema with a clock that can be moved; how far it is ahead."""
    version = schema.version(connection)
    if version.number and not movable_clock.is_installed(connection):
        raise NotFine(
            "this database is not a demo's, and the demo would move its clock: unset COUNTERFOIL_DATABASE_URL, or "
            "give it an empty database"
        )
    if fresh and version.number:
        connection.execute("DROP SCHEMA counterfoil CASCADE")
    schema.migrate(connection)
    movable_clock.install(connection)
    row = connection.execute("SELECT ahead FROM counterfoil.clock_ahead").fetchone()
    ahead: timedelta = row[0] if row else timedelta()
    return ahead


def _secret_key(connection: psycopg.Connection[Any]) -> str:
    """The same at every start, so that a browser is known again: made of what this database alone has."""
    row = connection.execute("SELECT system_identifier::text FROM pg_control_system()").fetchone()
    return f"demo only, not a secret: {row[0] if row else ''}".ljust(32, ".")


def _listen(port: int | None) -> socket.socket:
    tries = [port] if port is not None else [*range(8000, 8020), 0]
    for one in tries:
        try:
            return listen("127.0.0.1", one)
        except OSError:
            continue
    raise NotFine(f"port {port} cannot be had: give another with --port")


def _free_after(listening: socket.socket) -> int:
    port = int(listening.getsockname()[1]) + 1
    try:
        with listen("127.0.0.1", port):
            return port
    except (OSError, OverflowError):
        return 0


def _this_program() -> str:
    """How this program is called in another terminal of the same folder."""
    if shutil.which("counterfoil"):
        return "counterfoil"
    return os.path.relpath(Path(sys.executable).with_name("counterfoil"))


def _what_to_try(shop: str, simulator: str, admin_key: str) -> Panel:
    return Panel.fit(
        f"""[bold]The shop[/]           {shop}/
[bold]The seller's pages[/] {shop}/admin (the key below opens them)
[bold]Mails[/]              {shop}/admin/outbox (none is sent)
[bold]A school's page[/]    {shop}/portal (the link below opens it)
[bold]The API[/]            {shop}/docs
[bold]The simulator[/]      {simulator}/_simulator/
[bold]A key for the API[/]  {admin_key}

[bold]Try[/]
 1. Buy something at full price: the payment page asks for a card, and
    the one that is filled in pays.
 2. Buy with the code [bold]{sample.ROOMY}[/], typed any way you like: half price,
    and a place is held.
 3. [bold]{sample.NEARLY_SPENT}[/] has one place left. Go as far as the payment page, then
    ask for it in a private window: taken at the moment, not spent.
 4. Walk away from the payment page. In the simulator, which knows what
    Stripe would, press [bold]+31 min[/]: the place is back, by doing nothing.
 5. [bold]{_this_program()} storm[/] in another terminal:
    a hundred buyers on the last place.

Ctrl-C ends it all. What you did is kept for the next time; --fresh
begins anew.""",
        title="Counterfoil",
        border_style="green",
        padding=(1, 2),
    )
