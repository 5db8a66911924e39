"""The simulator's page names what there is: every option, control, kind of fault, card and switch."""

import re
from pathlib import Path
from typing import get_args

import click
import httpx

from counterfoil.cli.simulator import command
from counterfoil.simulator import Running
from counterfoil.simulator.control import routes
from counterfoil.simulator.engine import CARDS
from counterfoil.simulator.faults import Kind

PAGE = (Path(__file__).parent.parent.parent / "docs" / "reference" / "simulator.md").read_text("utf-8")


def test_options_and_kinds() -> None:
    options = [one for one in command.params if isinstance(one, click.Option)]
    for option in options:
        assert option.opts[0] in PAGE, option.opts
    for kind in get_args(Kind):
        assert f"| `{kind}` |" in PAGE


def test_controls() -> None:
    for route in routes:
        if not route.path.endswith("/sessions"):
            assert route.path in PAGE, route.path


def test_cards() -> None:
    digits = re.sub(r"[^0-9]", "", PAGE)
    for card in CARDS:
        assert card in digits or card[-4:] in PAGE


def test_switches(simulator: Running) -> None:
    for switch in httpx.get(f"{simulator.base_url}/_simulator/switches", trust_env=False).json():
        assert f"| `{switch}` |" in PAGE
