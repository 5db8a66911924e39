"""What the commands that ask Stripe are run with: the settings, the database, the driver, a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from counterfoil.cli import reach
from counterfoil.clocks import parse_duration
from counterfoil.model import Shop
from counterfoil.procedure import Procedure, drive
from counterfoil.service.settings import load
from counterfoil.stripe.drivers import SyncStripe


@contextmanager
def driving(*, use_embedded: bool) -> Iterator[tuple[Shop, Callable[[Procedure[Any]], Any]]]:
    """The seller, and what runs a procedure to its end."""
    with reach.database_url(use_embedded=use_embedded) as url:
        settings = load(COUNTERFOIL_DATABASE_URL=url)
        with reach.host(use_embedded=use_embedded) as host:
            stripe = SyncStripe(settings.stripe_secret_key, settings.clocks, settings.stripe_api_base)
            try:
                yield settings.shop, lambda procedure: drive(procedure, host, stripe)
            finally:
                stripe.close()


def progress() -> Progress:
    """A bar on stderr; nothing where that is no terminal."""
    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)


class Duration(click.ParamType[timedelta]):
    """An option such as 30d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """Read it."""
        if isinstance(value, timedelta):
            return value
        try:
            return parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
