"""`counterfoil institution`."""

from __future__ import annotations

import click

from counterfoil import calendars, catalogue
from counterfoil.cli import reach
from counterfoil.service.fields import Slug, Text, YearStart, Zone
from counterfoil.service.resources import InstitutionOut

COLUMNS = ("id", "slug", "name", "time_zone", "year_start")


@click.group("institution")
def command() -> None:
    """
    Schools, colleges and employers.

    Example: counterfoil institution add "Northfold College" --zone Europe/London
    """


@command.command("add")
@click.argument("name", type=reach.Field("name", Text))
@click.option("--zone", required=True, type=reach.Field("zone", Zone), help="Its time zone, such as Europe/London.")
@click.option(
    "--year-start",
    default="09-01",
    show_default=True,
    type=reach.Field("day", YearStart),
    help="The day its academic years start on.",
)
@click.option(
    "--slug", type=reach.Field("slug", Slug), help="Its short name in addresses; made of the name unless given."
)
@reach.json_option
@reach.embedded_option
def add(name: str, zone: str, year_start: str, slug: str | None, as_json: bool, use_embedded: bool) -> None:
    """
    Add an institution.

    Example: counterfoil institution add "Northfold College" --zone Europe/London --year-start 09-01
    """
    slug = slug or catalogue.slug_of(name)
    if not slug:
        raise click.UsageError("no slug can be made of this name: give --slug")
    with reach.host(use_embedded=use_embedded) as host:
        made = host.run(catalogue.add_institution(name=name, time_zone=zone, year_start=year_start, slug=slug))
    reach.show(InstitutionOut.of(made), COLUMNS, as_json=as_json)


@command.command("list")
@reach.json_option
@reach.embedded_option
def listed(as_json: bool, use_embedded: bool) -> None:
    """
    List institutions.

    Example: counterfoil institution list
    """
    with reach.host(use_embedded=use_embedded) as host:
        found = host.run(catalogue.institutions(most=10_000))
    reach.show([InstitutionOut.of(one) for one in found], COLUMNS, as_json=as_json)


@command.command("show")
@click.argument("institution")
@reach.json_option
@reach.embedded_option
def shown(institution: str, as_json: bool, use_embedded: bool) -> None:
    """
    Show one institution, by its slug or id.

    Example: counterfoil institution show northfold-college
    """
    with reach.host(use_embedded=use_embedded) as host:
        found = host.run(catalogue.institution(institution))
    reach.show(InstitutionOut.of(found), COLUMNS, as_json=as_json)


@command.command("change")
@click.argument("institution")
@click.option("--name", type=reach.Field("name", Text))
@click.option("--zone", type=reach.Field("zone", Zone), help="Its time zone.")
@click.option("--year-start", type=reach.Field("day", YearStart), help="The day its academic years start on.")
@reach.json_option
@reach.embedded_option
def change(
    institution: str, name: str | None, zone: str | None, year_start: str | None, as_json: bool, use_embedded: bool
) -> None:
    """
    Change an institution's name, or its calendar; what was counted stays in its period.

    Codes whose period is another one from then on are named on stderr.

    Example: counterfoil institution change northfold-college --year-start 08-01
    """
    if name is None and zone is None and year_start is None:
        raise click.UsageError("nothing to change: give --name, --zone or --year-start")
    with reach.host(use_embedded=use_embedded) as host:
        changed, moved = None, []
        while changed is None:
            known = host.run(catalogue.institution(institution))
            moved = host.run(
                calendars.shifts(institution=known.slug, time_zone=zone, year_start=year_start, most=10_000)
            )
            changed = host.run(
                catalogue.change_institution(
                    institution=known,
                    name=name or known.name,
                    time_zone=zone or known.time_zone,
                    year_start=year_start or known.year_start,
                )
            )
    for one in moved:
        if one.was != one.becomes:
            click.echo(f"{one.code} is counted in {one.becomes} from now on, and no longer in {one.was}", err=True)
    reach.show(InstitutionOut.of(changed), COLUMNS, as_json=as_json)
