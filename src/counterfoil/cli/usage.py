"""`counterfoil usage`."""

from __future__ import annotations

import csv
import sys

import click

from counterfoil import calendars, catalogue, verbs
from counterfoil.cli import reach
from counterfoil.errors import PeriodInvalid
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Code
from counterfoil.service.resources import UsageOut

COLUMNS = ("code", "period", "cap", "completed", "pending", "held", "remaining", "over", "next_release_at")


@click.command("usage")
@click.argument("code", required=False)
@click.option("--period", help="Of this period; of the one that is now unless given.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@reach.json_option
@reach.embedded_option
def command(code: str | None, period: str | None, as_csv: bool, as_json: bool, use_embedded: bool) -> None:
    """
    How full codes are: one of them, or all.

    Example: counterfoil usage NORTHFOLD-26 --period 2026-27
    """
    with reach.host(use_embedded=use_embedded) as host:
        codes = [host.run(catalogue.code(code))] if code else host.run(catalogue.codes(most=100_000))
        if code and period:
            host.run(calendars.known_period(code=codes[0], period=period))
        # Of all codes, those are shown that have this period, or any.
        fitting = [one for one in codes if code or _has(host, one, period)]
        found = [UsageOut.of(host.run(verbs.usage(code=one.code, period=period))) for one in fitting]
    if as_csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(COLUMNS)
        for one in found:
            row = one.model_dump(mode="json")
            writer.writerow([row[column] for column in COLUMNS])
        return
    reach.show(found[0] if code else found, COLUMNS, as_json=as_json)


def _has(host: Psycopg, code: Code, period: str | None) -> bool:
    if period is None:
        return bool(code.period)
    try:
        host.run(calendars.known_period(code=code, period=period))
    except PeriodInvalid:
        return False
    return True
