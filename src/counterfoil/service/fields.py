"""What comes in, field by field. No coercion: true is not 1, "5" is not 5, and unknown fields are refused."""

from __future__ import annotations

import base64
import json
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from counterfoil import buyers, codes, periods
from counterfoil.service.problems import Problem


def row_id(text: str) -> int | None:
    """The number of a row that stands in a path; None where it can be nobody's."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


class Body(BaseModel):
    """A body: strict, and closed."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def _plain(text: str) -> str:
    """Text that the database and a page can hold."""
    if any(
        ord(character) < 32 or 0x7F <= ord(character) < 0xA0 or 0xD800 <= ord(character) < 0xE000 for character in text
    ):
        raise ValueError("control characters and lone surrogates are not text")
    return text


def _day(value: Any) -> Any:
    if isinstance(value, str):
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
            raise ValueError("write the day as 2027-08-31")
        return date.fromisoformat(value)
    raise ValueError("a day is a string such as 2027-08-31")


def _percent(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a percentage is a number")  # noqa: TRY004 (pydantic reports ValueError)
    return Decimal(repr(value))


def _web_address(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#@]+([/?#]\S*)?", text):
        raise ValueError("an absolute http or https address")
    return text


def _slug(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", text):
        raise ValueError("lower-case letters, digits and single dashes")
    return text


Text = Annotated[str, StringConstraints(min_length=1, max_length=250, strip_whitespace=True), AfterValidator(_plain)]
LongText = Annotated[str, StringConstraints(max_length=2000, strip_whitespace=True), AfterValidator(_plain)]
Buyer = Annotated[str, AfterValidator(buyers.check_buyer)]
TypedCode = Annotated[str, AfterValidator(codes.check_code)]
#: One that is looked up, and not stored.
SoughtCode = Annotated[str, AfterValidator(codes.check_typed)]
Slug = Annotated[str, StringConstraints(min_length=1, max_length=60), AfterValidator(_slug)]
WebAddress = Annotated[str, StringConstraints(max_length=2000), AfterValidator(_plain), AfterValidator(_web_address)]
Amount = Annotated[int, Field(ge=0, le=99_999_999)]
Currency = Annotated[str, StringConstraints(pattern=r"^[a-z]{3}$")]
#: Minor units by currency.
Amounts = Annotated[dict[Currency, Amount], Field(min_length=1, examples=[{"eur": 600}])]
Cap = Annotated[int, Field(ge=0, le=1_000_000_000)]
Zone = Annotated[str, AfterValidator(periods.check_zone)]
YearStart = Annotated[str, AfterValidator(periods.check_year_start)]
Day = Annotated[date, BeforeValidator(_day, json_schema_input_type=str)]
Percent = Annotated[Decimal, BeforeValidator(_percent, json_schema_input_type=float)]
Metadata = Annotated[
    dict[
        Annotated[str, StringConstraints(min_length=1, max_length=40), AfterValidator(_plain)],
        Annotated[str, StringConstraints(max_length=500), AfterValidator(_plain)],
    ],
    Field(max_length=50),
]


def cursor(*parts: Any) -> str:
    """Where a page ended, as text that callers pass back and do not read."""
    plain = [part.isoformat() if isinstance(part, datetime) else str(part) for part in parts]
    return base64.urlsafe_b64encode(json.dumps(plain).encode()).decode().rstrip("=")


def read_cursor(text: str | None, *kinds: Any) -> tuple[Any, ...] | None:
    """The parts of a cursor of ours, each made by its kind."""
    if text is None:
        return None
    try:
        parts = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        if not isinstance(parts, list) or len(parts) != len(kinds) or not all(isinstance(part, str) for part in parts):
            raise ValueError("another list's cursor")
        found = tuple(kind(part) for kind, part in zip(kinds, parts, strict=True))
        for part in found:
            if isinstance(part, str):
                _plain(part)
            elif isinstance(part, datetime) and part.tzinfo is None:
                raise ValueError("a time without a zone")
            elif isinstance(part, int) and abs(part) >= 2**63:
                raise ValueError("a number out of range")
    except (ValueError, TypeError, OverflowError) as error:
        raise Problem(
            "invalid-request",
            "The cursor is not one of this list's. Pass next_cursor as it was given.",
            fields={"errors": [{"field": "cursor", "message": "not one of this list's"}]},
        ) from error
    return found
