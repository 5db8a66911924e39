"""The command line: one file per group of commands, each imported only when it is used."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

#: Where each command is, and the line that the list of commands shows.
COMMANDS = {
    "demo": ("demo", "Everything on this machine, with sample data. Start here."),
    "serve": ("serve", "Run the service: API, pages, webhook."),
    "migrate": ("migrate", "Bring the database's schema up to date."),
    "doctor": ("doctor", "Check settings, clocks, database and Stripe; say how to mend what is wrong."),
    "storm": ("storm", "A hundred buyers on the last place, run for real."),
    "institution": ("institution", "Schools, colleges and employers."),
    "code": ("code", "Codes: what they take off, and how many may use them."),
    "cap": ("cap", "Caps of single periods."),
    "period": ("period", "Periods with names and days of their own."),
    "usage": ("usage", "How full codes are."),
    "explain": ("explain", "Why a buyer would be let in or refused now."),
    "release": ("release", "Give a held place back by hand."),
    "return": ("return_", "Give back a completed place for which nothing was paid."),
    "portal-link": ("portal_link", "A first invitation to an institution's own page."),
    "mail": ("mail", "Mails to institutions."),
    "attention": ("attention", "What a person must look at."),
    "webhook": ("webhook", "The endpoint at Stripe that sends events here."),
    "reconcile": ("reconcile", "Compare our rows with Stripe's sessions; settle what differs."),
    "replay": ("replay", "Settle the events that were never settled."),
    "key": ("key", "API keys."),
    "account": ("account", "Who works on the seller's pages."),
    "buyer": ("buyer", "What is held about a person."),
    "forget": ("forget", "Forget a buyer; every count stays as it is."),
    "backup": ("backup", "Keep everything in a file."),
    "restore": ("restore", "Bring back what was kept in a file."),
    "simulator": ("simulator", "The Stripe Checkout simulator alone."),
}


class Lazy(click.Group):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The commands, in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """One command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"counterfoil.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list, without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="counterfoil")
def cli() -> None:
    """
    Codes that are good for so many discounted purchases a year, and never one more.

    Example: counterfoil demo
    """


def main(arguments: list[str] | None = None) -> None:
    """Run a command: exit 0 if all is fine, 1 if the thing asked about is not, 2 for wrong use."""
    from counterfoil.cli.trouble import exit_code

    try:
        outcome: Any = cli.main(arguments, prog_name="counterfoil", standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.exceptions.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except click.ClickException as wrong:
        wrong.show()
        sys.exit(wrong.exit_code)
    except Exception as error:  # noqa: BLE001 (the edge: what is not known goes on)
        sys.exit(exit_code(error))
    sys.exit(outcome if isinstance(outcome, int) else 0)
