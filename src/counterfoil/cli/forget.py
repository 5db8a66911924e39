"""`counterfoil forget`."""

from __future__ import annotations

import click

from counterfoil import forgetting
from counterfoil.cli import reach
from counterfoil.cli.driving import driving
from counterfoil.service.api.buyers import ForgottenOut
from counterfoil.service.fields import Buyer


@click.command("forget")
@click.argument("buyer", type=reach.Field("buyer", Buyer))
@click.option("--end-open", is_flag=True, help="End payment pages that are open at Stripe first.")
@reach.json_option
@reach.embedded_option
def command(buyer: str, end_open: bool, as_json: bool, use_embedded: bool) -> None:
    """
    Forget a buyer: no row says any longer whose it was, and every count stays as it is.

    What they bought is no longer found by their name. What Stripe keeps is Stripe's: it is found by the ids printed.

    Example: counterfoil forget ann@school.example
    """
    with driving(use_embedded=use_embedded) as (shop, run):
        done = ForgottenOut.of(run(forgetting.forget(buyer, shop, end_open=end_open)))
    if as_json:
        click.echo(done.model_dump_json(indent=2))
        return
    erased = done.erased.model_dump()
    if not any(erased.values()):
        click.echo("nothing was held about them")
        return
    click.echo("erased from " + ", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in erased.items()))
    for id in (*done.at_stripe.payment_intents, *done.at_stripe.sessions):
        click.echo(f"Stripe keeps {id}: redact it there (docs.stripe.com/privacy/redaction)")
