"""`counterfoil code add` with a discount in several currencies, or with a bound."""

import json
from typing import Any

import pytest
from tests.support.commands import Said


def added(run: Any, *options: str) -> Said:
    """A school, and a code of it."""
    run("institution", "add", "Northfold", "--zone", "Europe/London", "--year-start", "09-01")
    said: Said = run("code", "add", "NORTH-26", "--institution", "northfold", "--cap", "5", *options, "--json")
    return said


@pytest.mark.parametrize(
    ("options", "discount"),
    [
        (
            "--amount-off 500 --currency gbp --also eur=600 --also jpy=900",
            {"amount_off": 500, "currency": "gbp", "currencies": {"eur": 600, "jpy": 900}},
        ),
        (
            "--price 1500 --currency gbp --also eur=0",
            {"price": 1500, "currency": "gbp", "currencies": {"eur": 0}},
        ),
        (
            "--percent 50 --at-most gbp=2000 --at-most kwd=2500",
            {"percent": 50, "at_most": {"gbp": 2000, "kwd": 2500}},
        ),
    ],
)
def test_added_and_shown(run: Any, options: str, discount: dict[str, Any]) -> None:
    said = added(run, *options.split())
    assert (said.code, json.loads(said.out)["discount"]) == (0, discount)
    assert json.loads(run("code", "show", "north26", "--json").out)["discount"] == discount


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ("--percent 50 --also eur=600", "--at-most bounds it"),
        ("--percent 50 --at-most 2000", "like eur=600"),
        ("--percent 50 --at-most gbp=20.00", "like eur=600"),
        ("--percent 50 --at-most gbp=0", "whole number of minor units from 1"),
        ("--percent 50 --at-most gbp=5 --at-most gbp=6", "gbp is given twice"),
        ("--price 1500 --currency gbp --at-most gbp=5", "bounds a --percent"),
        ("--price 1500 --currency gbp --also gbp=5", "gbp is given twice"),
        ("--price 1500 --currency gbp --also xxx=5", "no currency"),
        ("--price 5124 --currency kwd", "5120 or 5130"),
    ],
)
def test_wrong_use(run: Any, options: str, word: str) -> None:
    said = added(run, *options.split())
    assert (said.code, said.out) == (2, "")
    assert word in said.err
    assert json.loads(run("code", "list", "--json").out) == []
