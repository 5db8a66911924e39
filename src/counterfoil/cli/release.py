"""`counterfoil release`."""

from __future__ import annotations

from uuid import UUID

import click

from counterfoil import ending, verbs
from counterfoil.cli import reach
from counterfoil.cli.trouble import NotFine
from counterfoil.model import RedemptionStatus, ReleaseReason
from counterfoil.procedure import drive
from counterfoil.service.resources import RedemptionOut
from counterfoil.service.settings import load
from counterfoil.stripe.drivers import SyncStripe


@click.command("release")
@click.argument("id", type=click.UUID)
@reach.json_option
@reach.embedded_option
def command(id: UUID, as_json: bool, use_embedded: bool) -> None:
    """
    Give a held place back by hand, and end its session at Stripe. A paid one stays as it is.

    Example: counterfoil release 8d0f7a1e-6f0b-4f0e-9a57-2f6f0c1d2e3f
    """
    with reach.database_url(use_embedded=use_embedded) as url:
        settings = load(COUNTERFOIL_DATABASE_URL=url)
        with reach.host(use_embedded=use_embedded) as host:
            found = host.run(verbs.redemptions(id=id, most=1))
            if not found:
                raise NotFine(f"there is no redemption {id}: see `counterfoil usage`, or GET /v1/redemptions")
            stripe = SyncStripe(settings.stripe_secret_key, settings.clocks, settings.stripe_api_base)
            try:
                drive(ending.release(found[0], settings.shop, ReleaseReason.BY_HAND), host, stripe)
            finally:
                stripe.close()
            after = host.run(verbs.redemptions(id=id, most=1))[0]
    reach.show(RedemptionOut.of(after), ("id", "code", "period", "status", "release_reason"), as_json=as_json)
    if after.status is not RedemptionStatus.RELEASED:
        raise NotFine(f"it is {after.status}: a sale cannot be un-sold")
