"""`counterfoil mail`."""

from __future__ import annotations

import asyncio

import aiosmtplib
import click

from counterfoil.cli import reach
from counterfoil.cli.trouble import NotFine, in_one_line
from counterfoil.service import letters
from counterfoil.service.api.portal_links import Address
from counterfoil.service.settings import SettingsImpossible
from counterfoil.service.smtp import Refused, Smtp


@click.group("mail")
def command() -> None:
    """
    Mails to institutions.

    Example: counterfoil mail test me@shop.example
    """


@command.command("test")
@click.argument("address", type=reach.Field("address", Address))
def test(address: str) -> None:
    """
    Send one mail now, and say what the server said. It goes through no outbox, and needs no database.

    Example: counterfoil mail test me@shop.example
    """
    url, sender = reach.mail()
    if url is None or sender is None:
        raise SettingsImpossible(
            "COUNTERFOIL_SMTP_URL is not set: for example smtp://user:password@mail.example:587; and set "
            "COUNTERFOIL_MAIL_FROM"
        )
    smtp, draft = Smtp(url, sender), letters.trial(address)
    try:
        asyncio.run(smtp.send(smtp.message(draft.recipient, draft.subject, draft.body)))
    except Refused as refused:
        raise NotFine(f"the server takes no mail for {address}: {refused}") from None
    except (aiosmtplib.SMTPException, OSError, TimeoutError) as failure:
        raise NotFine(
            f"no mail was sent; check COUNTERFOIL_SMTP_URL ({type(failure).__name__}: {in_one_line(failure)})"
        ) from None
    click.echo(f"the server took a mail for {address}")
