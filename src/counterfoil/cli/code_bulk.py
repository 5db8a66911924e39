"""`counterfoil code bulk`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from counterfoil import batches, catalogue, patterns
from counterfoil.catalogue import CodeTerms
from counterfoil.cli import reach
from counterfoil.model import BuyerIdentity
from counterfoil.patterns import Form
from counterfoil.periods import Calendar
from counterfoil.procedure import NoStripe, drive
from counterfoil.service.api.bulk import BatchOut

_HELP = """
Make many codes at random, all with the same terms, all or none. One on each line.

They are made out of characters that nobody takes for another. So many of one form that one could be guessed are
refused, with the pattern that would do.

Example: counterfoil code bulk --institution northfold-college --count 200 --prefix NORTH --cap 1 --percent 50
"""


def bulk(options: Sequence[click.Parameter], terms_of: Any) -> click.Command:
    """The command: with the options of a single code, whose terms *terms_of* makes out of them."""

    def run(
        count: int,
        prefix: str,
        pattern: str,
        institution: str,
        calendar: str,
        counts_with: str | None,
        buyer_identity: str | None,
        as_json: bool,
        use_embedded: bool,
        **given: Any,
    ) -> None:
        try:
            form = Form(prefix, pattern)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        terms: CodeTerms = terms_of(**given)
        with reach.host(use_embedded=use_embedded) as host:
            whose = host.run(catalogue.institution(institution))
            host.run(catalogue.check_products(terms.products or ()))
            rule = BuyerIdentity(buyer_identity) if buyer_identity else None
            host.run(catalogue.check_identity(counts_with=counts_with, buyer_identity=rule))
            made = drive(
                batches.make_codes(
                    institution=whose,
                    number=count,
                    form=form,
                    terms=terms,
                    calendar=Calendar(calendar),
                    counts_with=counts_with,
                    buyer_identity=rule,
                ),
                host,
                NoStripe(),
            )
        if as_json:
            reach.show(BatchOut.of(made), (), as_json=True)
            return
        for code in made.codes:
            click.echo(code)
        click.echo(f"{len(made.codes)} made: whoever guesses hits one with one try in {made.one_in:,}", err=True)

    own: list[click.Parameter] = [
        click.Option(["--count"], type=click.IntRange(1, batches.MOST), required=True, help="How many."),
        click.Option(["--prefix"], default="", help="What all of them begin with."),
        click.Option(
            ["--pattern"],
            default=patterns.DEFAULT,
            show_default=True,
            help="X for each character at random, with dashes between.",
        ),
    ]
    return click.Command("bulk", params=own + list(options), callback=run, help=_HELP)
