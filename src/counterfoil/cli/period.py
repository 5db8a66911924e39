"""`counterfoil period`."""

from __future__ import annotations

from datetime import datetime

import click

from counterfoil import calendars, catalogue
from counterfoil.cli import reach
from counterfoil.periods import Calendar, NamedPeriod, check_name
from counterfoil.service.resources import CodeOut, PeriodOut

COLUMNS = ("period", "starts_on", "ends_on")

_DAY = click.DateTime(["%Y-%m-%d"])


@click.group("period")
def command() -> None:
    """
    Periods with names and days of their own, for codes whose calendar is custom.

    Example: counterfoil period add NORTHFOLD-26 "Spring 2027" 2027-01-11 2027-04-02
    """


@command.command("add")
@click.argument("code")
@click.argument("period")
@click.argument("starts_on", type=_DAY)
@click.argument("ends_on", type=_DAY)
@reach.json_option
@reach.embedded_option
def add(code: str, period: str, starts_on: datetime, ends_on: datetime, as_json: bool, use_embedded: bool) -> None:
    """
    Give a code a period, or other days to the one of this name; the last day is included whole.

    Example: counterfoil period add NORTHFOLD-26 "Spring 2027" 2027-01-11 2027-04-02
    """
    try:
        made = NamedPeriod(check_name(period), starts_on.date(), ends_on.date())
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if made.starts_on > made.ends_on:
        raise click.UsageError("the last day lies before the first")
    with reach.host(use_embedded=use_embedded) as host:
        known = host.run(catalogue.code(code))
        host.run(calendars.set_period(code=known, name=made.name, starts_on=made.starts_on, ends_on=made.ends_on))
    reach.show(PeriodOut.of(known, made), COLUMNS, as_json=as_json)


@command.command("list")
@click.argument("code")
@reach.json_option
@reach.embedded_option
def listed(code: str, as_json: bool, use_embedded: bool) -> None:
    """
    List the periods with names that a code has, the latest first.

    Example: counterfoil period list NORTHFOLD-26
    """
    with reach.host(use_embedded=use_embedded) as host:
        known = host.run(catalogue.code(code))
        found = host.run(calendars.named_periods(code=known))
    reach.show([PeriodOut.of(known, one) for one in found], COLUMNS, as_json=as_json)


@command.command("remove")
@click.argument("code")
@click.argument("period")
@reach.embedded_option
def remove(code: str, period: str, use_embedded: bool) -> None:
    """
    Take a period away, while nobody wanted a place of it and its cap was not set.

    Example: counterfoil period remove NORTHFOLD-26 "Spring 2027"
    """
    with reach.host(use_embedded=use_embedded) as host:
        known = host.run(catalogue.code(code))
        host.run(calendars.remove_period(code=known, name=period))
    click.echo(f"{known.code} has no period {period} any more")


@command.command("calendar")
@click.argument("code")
@click.argument("calendar", type=click.Choice([str(one) for one in Calendar]))
@reach.json_option
@reach.embedded_option
def count_by(code: str, calendar: str, as_json: bool, use_embedded: bool) -> None:
    """
    Count a code by another calendar from now on. What was counted stays in its period.

    Example: counterfoil period calendar NORTHFOLD-26 custom
    """
    with reach.host(use_embedded=use_embedded) as host:
        changed = None
        while changed is None:
            known = host.run(catalogue.code(code))
            changed = host.run(
                catalogue.change_code(code=known, terms=catalogue.terms_of(known), calendar=Calendar(calendar))
            )
    reach.show(CodeOut.of(changed), ("code", "calendar", "period"), as_json=as_json)
