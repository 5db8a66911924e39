"""`counterfoil return`."""

from __future__ import annotations

from uuid import UUID

import click

from counterfoil import verbs
from counterfoil.cli import reach
from counterfoil.cli.trouble import NotFine
from counterfoil.service.resources import RedemptionOut
from counterfoil.service.settings import load

_WHY_NOT = {
    "paid": "it was paid for: refund it at Stripe; the code's refund policy says what becomes of its place",
    "not_completed": "it is {status}, and holds no spent place: `counterfoil release` gives a held one back",
}


@click.command("return")
@click.argument("id", type=click.UUID)
@reach.json_option
@reach.embedded_option
def command(id: UUID, as_json: bool, use_embedded: bool) -> None:
    """
    Give back a completed place for which nothing was paid, and revoke what it unlocked. A paid one stays as it is.

    Example: counterfoil return 8d0f7a1e-6f0b-4f0e-9a57-2f6f0c1d2e3f
    """
    with reach.database_url(use_embedded=use_embedded) as url:
        settings = load(COUNTERFOIL_DATABASE_URL=url)
        with reach.host(use_embedded=use_embedded) as host:
            found = host.run(verbs.redemptions(id=id, most=1))
            if not found:
                raise NotFine(f"there is no redemption {id}: see `counterfoil usage`, or GET /v1/redemptions")
            outcome, after = host.run(verbs.return_place(claim=found[0], shop=settings.shop))
    reach.show(RedemptionOut.of(after), ("id", "code", "period", "status", "buyer"), as_json=as_json)
    if outcome in _WHY_NOT:
        raise NotFine(_WHY_NOT[outcome].format(status=after.status))
