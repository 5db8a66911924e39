"""`counterfoil serve`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack

import click
import psycopg
import uvicorn

from counterfoil import schema
from counterfoil.cli import reach
from counterfoil.cli.trouble import NotFine
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.listening import listen, serve_until_told
from counterfoil.service import logs, seller
from counterfoil.service.settings import Settings, load

#: Seconds that requests get to finish after SIGTERM.
DRAIN = 30


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 for any free one.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="Processes.")
@reach.embedded_option
@click.option("--socket-fd", type=int, hidden=True, help="A worker's listening socket.")
def command(host: str, port: int, workers: int, use_embedded: bool, socket_fd: int | None) -> None:
    """
    Run the service: API, pages, webhook. Never migrates; starts with Stripe down. SIGTERM lets requests finish.

    Example: counterfoil serve --port 8000 --workers 2
    """
    if socket_fd is not None:
        _worker(load(), socket.socket(fileno=socket_fd))
        return
    with ExitStack() as stack:
        url = stack.enter_context(reach.database_url(use_embedded=use_embedded))
        settings = load(COUNTERFOIL_DATABASE_URL=url)
        check_database(settings)
        try:
            listening = listen(host, port)
        except OSError as error:
            raise NotFine(f"{host}:{port} cannot be had ({error.strerror}): give another --port") from None
        named = f"[{host}]" if ":" in host else host
        address = f"http://{named}:{listening.getsockname()[1]}"
        click.echo(f"counterfoil listens on {address} (webhook: {settings.public_url.rstrip('/')}/webhooks/stripe)")
        if workers == 1:
            run(settings, listening)
        else:
            _supervise(workers, listening, url, settings.stripe_rate)


def check_database(settings: Settings) -> None:
    """
    What must be true of the database before anything is served from it.

    Raises:
        NotFine: The schema is not one this program runs on, or the database is of the other Stripe mode.
    """
    newest = schema.migrations()[-1].number
    with psycopg.connect(settings.database_url, autocommit=True, connect_timeout=10) as connection:
        found = schema.version(connection, settings.database_schema)
        if found.behind:
            raise NotFine(found.behind)
        if found.number > newest + 1:
            raise NotFine(
                f"the schema is at {found.number}, this program runs on {newest} and {newest + 1}: use a newer one"
            )
        recorded = Psycopg(connection, settings.database_schema).run(seller.record(settings.livemode))
    if recorded != settings.livemode:
        raise NotFine(
            f"this database is of Stripe's {seller.name(recorded)} mode, and STRIPE_SECRET_KEY of the "
            f"{seller.name(settings.livemode)} mode: use the other key, or another database"
        )


def run(settings: Settings, listening: socket.socket) -> None:
    """Serve in this very process, until a signal."""
    from counterfoil.service.app import create_app
    from counterfoil.service.server import Server

    logs.configure(settings.log)
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=DRAIN,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
    )
    serve_until_told(Server(config, app), listening)


def _worker(settings: Settings, listening: socket.socket) -> None:
    # The parent holds the other end of our standard input: when it is gone, however it went, so are we.
    def end_with_parent() -> None:
        sys.stdin.buffer.read()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=end_with_parent, daemon=True).start()
    run(settings, listening)


def _supervise(workers: int, listening: socket.socket, url: str, stripe_rate: float) -> None:
    """Keep so many workers running on one socket; they end with us."""
    ending = threading.Event()
    # Stripe counts what we all do together: each worker gets its part.
    share = {"COUNTERFOIL_STRIPE_RATE": str(stripe_rate / workers)}
    environment = os.environ | {"COUNTERFOIL_DATABASE_URL": url} | share
    arguments = [sys.executable, "-m", "counterfoil", "serve", "--socket-fd", str(listening.fileno())]

    def begin() -> subprocess.Popen[bytes]:
        return subprocess.Popen(arguments, stdin=subprocess.PIPE, pass_fds=[listening.fileno()], env=environment)

    running = [begin() for _ in range(workers)]
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: ending.set())
    while not ending.wait(0.5):
        for index, worker in enumerate(running):
            if worker.poll() is not None:
                click.echo(f"a worker ended with {worker.returncode}: another one begins", err=True)
                running[index] = begin()
    for worker in running:
        worker.terminate()
    for worker in running:
        worker.wait(DRAIN + 5)
