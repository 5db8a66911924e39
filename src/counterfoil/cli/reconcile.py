"""`counterfoil reconcile`."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import timedelta

import click
from rich.console import Console
from rich.table import Table

from counterfoil import audit
from counterfoil.cli import reach
from counterfoil.cli.driving import driving, progress
from counterfoil.cli.trouble import NotFine
from counterfoil.drift import WORDS
from counterfoil.procedure import Procedure
from counterfoil.reconcile import DAYS, Report, reconcile


@click.command("reconcile")
@click.option("--apply", is_flag=True, help="Settle what is found. Without it, nothing is changed.")
@click.option(
    "--days", default=DAYS.days, show_default=True, type=click.IntRange(1, 365),
    help="How far back sessions and settled rows are compared; unsettled rows are, however old.",
)  # fmt: skip
@reach.json_option
@reach.embedded_option
def command(apply: bool, days: int, as_json: bool, use_embedded: bool) -> int:
    """
    Compare our rows with Stripe's sessions, list what differs, settle it with --apply. Exit 1 if any of it is left.

    Example: counterfoil reconcile --apply
    """
    with driving(use_embedded=use_embedded) as (shop, run), progress() as bar:
        if apply:
            run(_kept(days))
        task = bar.add_task("asking Stripe", total=1.0)

        def tell(report: Report) -> None:
            found = f"{report.compared} sessions compared, {len(report.findings)} differ"
            bar.update(task, completed=report.reached, description=found)

        report: Report = run(reconcile(shop, apply=apply, last=timedelta(days=days), tell=tell))
    if as_json:
        click.echo(json.dumps(asdict(report) | {"fine": report.fine}, indent=2, ensure_ascii=False, default=str))
    else:
        _print(report)
    if report.interrupted:
        raise NotFine(f"stopped half way, and what was done stays: {report.interrupted} Run it again")
    return 0 if report.fine else 1


def _kept(days: int) -> Procedure[None]:
    yield audit.keep(action="reconcile.applied", subject="Stripe", after={"days": days})


def _print(report: Report) -> None:
    if report.findings:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("redemption or checkout", "code", "we say", "Stripe says", "would", "outcome", "session"):
            table.add_column(column, overflow="fold")
        for one in report.findings:
            row = str(one.redemption or one.checkout or "-")
            outcome = f"{one.done}, left over" if one.done and one.left else one.done or "-"
            table.add_row(row, one.code or "-", one.rows, one.stripe, WORDS[one.would], outcome, one.session_id)
        Console().print(table)
    click.echo(f"{report.compared} sessions compared: {_in_short(report)}")


def _in_short(report: Report) -> str:
    if not report.findings:
        return "no drift"
    if not report.applied:
        return f"{len(report.findings)} differ; settle them with --apply"
    settled = len(report.findings) - len(report.left)
    return f"{settled} settled, {len(report.left)} left over"
