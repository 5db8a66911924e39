"""`counterfoil replay`."""

from __future__ import annotations

import json
from datetime import timedelta

import click

from counterfoil.cli import reach
from counterfoil.cli.driving import Duration, driving, progress
from counterfoil.cli.trouble import NotFine
from counterfoil.replay import KEPT, Replayed, replay


@click.command("replay")
@click.option("--since", default=KEPT, show_default="30d", type=Duration(), help="How far back: 12h, 3d.")
@reach.json_option
@reach.embedded_option
def command(since: timedelta, as_json: bool, use_embedded: bool) -> int:
    """
    Fetch Stripe's events of the last 30 days that were never settled, and settle them. Exit 1 if one is left.

    Example: counterfoil replay --since 3d
    """
    with driving(use_embedded=use_embedded) as (shop, run), progress() as bar:
        task = bar.add_task("asking Stripe", total=None)

        def tell(report: Replayed) -> None:
            done = report.outcomes.total() + len(report.left)
            total = report.unsettled if done else None
            found = f"{report.looked_at} events, {report.unsettled} never settled"
            bar.update(task, completed=done, total=total, description=found)

        report: Replayed = run(replay(shop, last=since, tell=tell))
    if as_json:
        click.echo(json.dumps({**vars(report), "fine": report.fine}, indent=2, ensure_ascii=False))
    else:
        _print(report)
    if report.interrupted:
        raise NotFine(f"stopped half way, and what was settled stays: {report.interrupted} Run it again")
    return 0 if report.fine else 1


def _print(report: Replayed) -> None:
    click.echo(f"{report.looked_at} events, {report.unsettled} of them never settled")
    for outcome, number in sorted(report.outcomes.items()):
        click.echo(f"  {outcome}: {number}")
    for event in report.left:
        click.echo(f"  left over: {event}")
