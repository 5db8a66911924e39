"""`counterfoil portal-link`."""

from __future__ import annotations

import json

import click

from counterfoil import catalogue, portal
from counterfoil.cli import reach
from counterfoil.cli.trouble import NotFine
from counterfoil.service import letters
from counterfoil.service.api.portal_links import WHY, Address
from counterfoil.service.fields import Text
from counterfoil.tokens import new_token


@click.command("portal-link")
@click.argument("institution")
@click.option("--email", type=reach.Field("address", Address), help="Whom to mail it to; without, hand it on yourself.")
@click.option("--name", type=reach.Field("name", Text), help="Their name.")
@reach.json_option
@reach.embedded_option
def command(institution: str, email: str | None, name: str | None, as_json: bool, use_embedded: bool) -> None:
    """
    Invite somebody to an institution's own page: a link that works once, for 7 days.

    Example: counterfoil portal-link northfold-college --email office@northfold.example
    """
    token, public_url = new_token(), reach.public_url()
    with reach.host(use_embedded=use_embedded) as host:
        found = host.run(catalogue.institution(institution))
        mail = (
            letters.invitation(recipient=email, institution=found.name, token=token, public_url=public_url)
            if email is not None
            else None
        )
        made = host.run(portal.invite(institution=found.id, token=token, email=email, name=name or "", mail=mail))
    if made.outcome != "made" or made.ends_at is None:
        raise NotFine(WHY[made.outcome])
    url = letters.link_of(token, public_url)
    if as_json:
        shown = {"id": str(made.link), "institution": found.slug, "url": url, "email": email}
        click.echo(json.dumps(shown | {"expires_at": made.ends_at.isoformat()}, indent=2))
    else:
        click.echo(url)
        click.echo(f"good once, until {made.ends_at:%Y-%m-%d %H:%M} UTC; it is not shown again", err=True)
