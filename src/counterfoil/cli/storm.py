"""`counterfoil storm`."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict

import click
import psycopg
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from counterfoil.cli import reach
from counterfoil.cli.trouble import NotFine
from counterfoil.simulator import run_in_thread
from counterfoil.storm.control import admitted_without_lock
from counterfoil.storm.rush import Storm, Tally, services
from counterfoil.storm.scratch import scratch_schema


@click.command("storm")
@click.option("--buyers", default=100, show_default=True, type=click.IntRange(1, 2000), help="Who all ask at once.")
@click.option("--places", default=1, show_default=True, type=click.IntRange(0, 100_000), help="The cap.")
@click.option("--rounds", default=1, show_default=True, type=click.IntRange(1, 1000))
@click.option("--processes", default=2, show_default=True, type=click.IntRange(1, 16), help="Services on one database.")
@click.option(
    "--without-lock", is_flag=True, help="The control: count, then insert. It must oversell; exit 0 if it did."
)
@reach.json_option
@reach.embedded_option
def command(
    buyers: int, places: int, rounds: int, processes: int, without_lock: bool, as_json: bool, use_embedded: bool
) -> int:
    """
    A hundred buyers on the last place, run for real, in a scratch schema that is dropped afterwards.

    Example: counterfoil storm --buyers 100 --places 1 --rounds 3
    """
    with (
        reach.database_url(use_embedded=use_embedded, otherwise_embedded=True) as url,
        scratch_schema(url) as schema,
        Progress(console=Console(stderr=True), transient=True) as progress,
    ):
        if without_lock:
            return _control(url, schema, buyers, places, rounds, progress, as_json=as_json)
        tally = _storm(url, schema, buyers, places, rounds, processes, progress)
    _print(tally, buyers, places, as_json=as_json)
    return 0 if tally.fine else 1


def _storm(url: str, schema: str, buyers: int, places: int, rounds: int, processes: int, progress: Progress) -> Tally:
    tally = Tally()
    bar = progress.add_task(f"{buyers} buyers, {places} places", total=2 * buyers * rounds)
    with (
        run_in_thread() as simulator,
        services(processes, url, schema, simulator) as (addresses, admin_key),
        psycopg.connect(url, autocommit=True) as connection,
    ):
        storm = Storm(addresses, admin_key, simulator, connection, schema)
        for number in range(rounds):
            asyncio.run(storm.round(number, buyers, places, tally, lambda: progress.advance(bar)))
    return tally


def _control(url: str, schema: str, buyers: int, places: int, rounds: int, progress: Progress, *, as_json: bool) -> int:
    bar = progress.add_task("without a lock", total=buyers * rounds)
    oversold = sum(
        max(0, asyncio.run(admitted_without_lock(url, schema, buyers, places, lambda: progress.advance(bar))) - places)
        for _ in range(rounds)
    )
    if as_json:
        click.echo(json.dumps({"oversold": oversold}))
    else:
        click.echo(
            f"count, then insert, without a lock: {places} places, {places * rounds + oversold} let in, "
            f"oversold by {oversold}"
        )
    if not oversold:
        raise NotFine("the control did not oversell: it shows nothing. Try more --buyers or --rounds")
    return 0


def _print(tally: Tally, buyers: int, places: int, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(asdict(tally) | {"fine": tally.fine}, indent=2))
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    for label, value in (
        (f"{tally.rounds} rounds of {buyers} buyers on {places} places, twice each", ""),
        ("admitted", tally.admitted),
        ("refused, truly", tally.refused),
        ("busy to the end", tally.busy),
        ("lapsed places let again", tally.let_again),
        ("paid and completed", tally.paid),
        ("oversold", tally.oversold),
        ("leaked", tally.leaked),
        ("errors", len(tally.errors)),
    ):
        table.add_row(label, str(value))
    Console().print(table)
    for error in tally.errors[:5]:
        click.echo(f"  {error}", err=True)
    click.echo("every invariant held" if tally.fine else "an invariant broke")
