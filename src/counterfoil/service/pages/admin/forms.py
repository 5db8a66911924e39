"""
What people type into the admin's forms: kept as it was typed, read field by field, and what is wrong said beside each.

The kinds are those of the API (`fields.py`); the words are for people.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import FormData
from starlette.requests import Request

from counterfoil.pricing import MAXIMUM, decimals, step

T = TypeVar("T")

_WORDS = {
    "string_too_short": "Fill this in.",
    "string_too_long": "This is too long.",
}


class Form:
    """
    A form as it was sent, or as it is offered.

    Attributes:
        errors: What is wrong, by field. Empty: all that was read is good.
    """

    def __init__(self, typed: FormData | dict[str, str | list[str]] | None = None) -> None:
        self._typed: dict[str, list[str]] = {}
        pairs = typed.multi_items() if isinstance(typed, FormData) else (typed or {}).items()
        for name, value in pairs:
            values = value if isinstance(value, list) else [value]
            self._typed.setdefault(name, []).extend(one for one in values if isinstance(one, str))
        self.errors: dict[str, str] = {}

    @classmethod
    async def of(cls, request: Request) -> Form:
        """The form that a request sends."""
        return cls(await request.form())

    def typed(self, name: str) -> str:
        """What was typed into a field; nothing if it was not sent."""
        return next(iter(self._typed.get(name, ())), "")

    def all_of(self, name: str) -> tuple[str, ...]:
        """What was ticked of several."""
        return tuple(self._typed.get(name, ()))

    def ticked(self, name: str) -> bool:
        """Whether a box was ticked."""
        return name in self._typed

    def wrong(self, name: str, message: str) -> None:
        """Say what is wrong with a field. The first word on it stands."""
        self.errors.setdefault(name, message)

    def take(self, name: str, kind: Any, *, or_none: bool = False) -> Any:
        """The value of a field, of one of the API's kinds; None if it is wrong, or empty where that may be."""
        text = self.typed(name)
        if or_none and not text.strip():
            return None
        try:
            return adapter(kind).validate_python(text)
        except ValidationError as error:
            first = error.errors()[0]
            message = _WORDS.get(first["type"], first["msg"].removeprefix("Value error, "))
            self.wrong(name, message[:1].upper() + message[1:] + ("" if message.endswith(".") else "."))
            return None

    def check(self, name: str, read: Callable[[str], T]) -> T | None:
        """The value of a field, by a function that raises ValueError with the words for it."""
        try:
            return read(self.typed(name))
        except ValueError as error:
            message = str(error)
            self.wrong(name, message[:1].upper() + message[1:] + ".")
            return None

    def whole(self, name: str, *, least: int, most: int, or_none: bool = False) -> int | None:
        """A whole number, with or without the separators that people write into long ones."""
        text = re.sub(r"[\s,_'’]", "", self.typed(name))
        if or_none and not text:
            return None
        if not re.fullmatch(r"[0-9]{1,18}", text, re.ASCII) or not least <= int(text) <= most:
            self.wrong(name, f"Write a whole number from {least:,} to {most:,}.")
            return None
        return int(text)

    def places(self, *, most: int) -> int | None:
        """A cap, or None where "No cap" is ticked. Both at once is asked about: one of them is not meant."""
        if not self.ticked("uncapped"):
            return self.whole("cap", least=0, most=most)
        if self.typed("cap").strip():
            self.wrong("cap", "There is a number, and No cap is ticked. Empty the one, or untick the other.")
        return None

    def money(self, name: str, currency: str | None, *, least: int = 0) -> int | None:
        """An amount as people write it (15.00), in minor units of the currency."""
        if currency is None:
            return None
        try:
            return amount_of(self.typed(name), currency, least=least)
        except ValueError as wrong:
            self.wrong(name, str(wrong))
            return None

    def day(self, name: str) -> date | None:
        """A day, or none."""
        text = self.typed(name).strip()
        if not text:
            return None
        try:
            if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text, re.ASCII):
                raise ValueError(text)
            return date.fromisoformat(text)
        except ValueError:
            self.wrong(name, "Write the day as year, month and day, like 2027-08-31.")
            return None

    def one_of(self, name: str, allowed: Sequence[str]) -> str | None:
        """One of a few."""
        text = self.typed(name)
        if text not in allowed:
            self.wrong(name, "Choose one of these.")
            return None
        return text


def amount_of(typed: str, currency: str, *, least: int = 0) -> int:
    """
    An amount as people write it (15.00), in minor units.

    Raises:
        ValueError: In a sentence for whoever typed it.
    """
    places = decimals(currency)
    text = re.sub(r"[\s_'’]", "", typed)
    pattern = r"[0-9]{1,12}" + (rf"(\.[0-9]{{1,{places}}})?" if places else "")
    amount = int(Decimal(text).scaleb(places)) if re.fullmatch(pattern, text, re.ASCII) else -1
    if not least <= amount <= MAXIMUM:
        example = "15" + ("." + "0" * places if places else "")
        most = f"{Decimal(MAXIMUM).scaleb(-places):,}"
        raise ValueError(f"Write an amount in {currency.upper()} like {example}, at most {most}.")
    unit = step(currency)
    if amount % unit:
        below, above = (written(amount - amount % unit + more, currency) for more in (0, unit))
        raise ValueError(
            f"Stripe charges {currency.upper()} in steps of {written(unit, currency)}: write {below} or {above}."
        )
    return amount


def written(amount: int, currency: str) -> str:
    """An amount of minor units as it is typed into a field."""
    places = decimals(currency)
    return f"{Decimal(amount).scaleb(-places):f}"


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """A validator of one of the API's kinds."""
    return TypeAdapter(kind)
