"""`counterfoil code export` and `counterfoil code import`."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import click
from pydantic import BaseModel

from counterfoil import catalogue
from counterfoil.cli import reach
from counterfoil.cli.trouble import NotFine
from counterfoil.importing import cells, own, plan, writing
from counterfoil.importing.plan import Fate, Format, Imported
from counterfoil.importing.wanted import Given
from counterfoil.periods import Calendar
from counterfoil.procedure import NoStripe, drive


class LineOut(BaseModel):
    """What becomes of a line."""

    line: int
    code: str
    fate: str
    why: str


class ImportOut(BaseModel):
    """What becomes, or became, of a file."""

    format: str
    done: bool
    add: int
    exists: int
    bad: int
    lines: list[LineOut]

    @classmethod
    def of(cls, found: Imported) -> ImportOut:
        """The same, as it is printed."""
        return cls(
            format=found.format,
            done=found.done,
            add=found.count(Fate.ADD),
            exists=found.count(Fate.EXISTS),
            bad=found.count(Fate.BAD),
            lines=[LineOut(line=one.number, code=one.code, fate=one.fate, why=one.why) for one in found.lines],
        )


@click.command("export")
@click.option("--institution", help="Of this institution only: slug or id.")
@reach.embedded_option
def export(institution: str | None, use_embedded: bool) -> None:
    """
    Print the codes in force as CSV, which `code import` reads again.

    Example: counterfoil code export --institution northfold-college > codes.csv
    """
    with reach.host(use_embedded=use_embedded) as host:
        whose = host.run(catalogue.institution(institution)).id if institution else None
        writer = csv.writer(sys.stdout)
        writer.writerow(own.COLUMNS)
        after: int | None = 0
        while after is not None:
            lines, after = host.run(writing.lines_after(after=after, institution=whose))
            writer.writerows(lines)


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--institution", required=True, help="Whose codes they become: slug or id.")
@click.option("--dry-run", is_flag=True, help="Show what would become of each line, and add nothing.")
@click.option("--skip-bad", is_flag=True, help="Add the good lines though there are bad ones.")
@click.option(
    "--format",
    "written_by",
    type=click.Choice([*Format, "plain"]),
    help="Who wrote the file; seen by its first line unless given.",
)
@click.option("--cap", help="The cap of all lines, where the file has no column for it: a number, or none.")
@click.option("--percent", help="What all lines take off, where the file does not say it.")
@click.option("--amount-off", help="The same, in minor units; needs --currency.")
@click.option("--price", help="A price instead, in minor units; needs --currency.")
@click.option("--currency", help="The currency of amounts, where the file does not say it.")
@click.option("--amounts", type=click.Choice(["minor", "major"]), help="What another program's amounts are in.")
@click.option("--calendar", type=click.Choice([str(one) for one in Calendar]), help="What all lines are counted by.")
@click.option("--per-buyer", help="Purchases per buyer and period, of all lines; or none.")
@reach.json_option
@reach.embedded_option
def import_(
    file: Path,
    institution: str,
    dry_run: bool,
    skip_bad: bool,
    written_by: str | None,
    amounts: str | None,
    as_json: bool,
    use_embedded: bool,
    per_buyer: str | None,
    **said: str | None,
) -> None:
    """
    Add the codes of a CSV file: our own, a plain one, Stripe's promotion codes, or Voucherify's.

    What becomes of each line is printed. Nothing is added where a line is bad, unless --skip-bad.

    Example: counterfoil code import codes.csv --institution northfold-college --dry-run
    """
    beside = {name: value for name, value in (said | {"per_buyer_limit": per_buyer}).items() if value is not None}
    format = None if written_by is None else Format.COUNTERFOIL if written_by == "plain" else Format(written_by)
    with reach.host(use_embedded=use_embedded) as host:
        given = Given(host.run(catalogue.institution(institution)), beside, amounts)
        with file.open("rb") as opened:
            data = opened.read(cells.MOST_BYTES + 1)
        found = drive(
            plan.import_codes(data=data, given=given, format=format, dry_run=dry_run, skip_bad=skip_bad),
            host,
            NoStripe(),
        )
    shown = ImportOut.of(found)
    if as_json:
        reach.show(shown, (), as_json=True)
    else:
        reach.show(shown.lines, ("line", "code", "fate", "why"), as_json=False)
    bad = found.count(Fate.BAD)
    if bad and not found.done:
        are = "is" if bad == 1 else "are"
        raise NotFine(
            f"{bad} of {len(found.lines)} lines {are} bad, and nothing was added: mend the file, or give --skip-bad"
        )
    if not as_json:
        told = "added" if found.done else "would be added"
        click.echo(f"{found.count(Fate.ADD)} {told}, {found.count(Fate.EXISTS)} there already, {bad} bad")
