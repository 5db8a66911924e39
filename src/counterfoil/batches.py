"""Many codes at once, at random: all with the same terms, all or none, and none that could be guessed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from counterfoil import catalogue, errors, reading
from counterfoil.catalogue import CodeTerms
from counterfoil.model import BuyerIdentity, Institution
from counterfoil.patterns import HARD_ENOUGH, Form
from counterfoil.periods import Calendar
from counterfoil.procedure import Procedure
from counterfoil.statement import AllOrNone, Row, Sql, Statement

#: Codes of one batch.
MOST = 5_000
#: How often others are drawn, where one of them is taken: it hardly ever is.
_TRIES = 20


@dataclass(frozen=True)
class Batch:
    """
    Codes that were made together.

    Attributes:
        one_in: With one try, whoever knows the form hits one of the codes of this form that there were then with a
            chance of one in this number.
        codes: As they are printed, in the order in which they were made.
    """

    id: UUID
    institution: str
    prefix: str
    pattern: str
    one_in: int
    created_at: datetime
    codes: tuple[str, ...]


def make_codes(
    *,
    institution: Institution,
    number: int,
    form: Form,
    terms: CodeTerms,
    calendar: Calendar,
    counts_with: str | None = None,
    buyer_identity: BuyerIdentity | None = None,
    draw: Callable[[Form, int], list[str]] = Form.draw,
) -> Procedure[Batch]:
    """
    Make *number* codes of an institution, in one transaction.

    Raises:
        CodesTooDense: They could be guessed. It says which pattern would do.
        CodeUnknown: There is no code to count with.
        Busy: Again and again, others made the same codes in the same moment.
    """
    existing: int = yield _of_this_form(form)
    # guard: too-many-to-be-hard-to-guess
    if form.one_in(number + existing) < HARD_ENOUGH:
        raise errors.CodesTooDense(
            codes=number,
            existing=existing,
            one_in=form.one_in(number + existing),
            hard_enough=HARD_ENOUGH,
            pattern=form.hard_enough(number + existing).pattern,
        )
    for _ in range(_TRIES):
        id = uuid4()
        statements: list[Statement[Any]] = [_begin(id, institution, form, number + existing)]
        statements += [
            catalogue.add_code(
                institution=institution,
                code=code,
                terms=terms,
                calendar=calendar,
                counts_with=counts_with,
                batch=id,
                buyer_identity=buyer_identity,
            )
            for code in draw(form, number)
        ]
        try:
            yield AllOrNone(tuple(statements))
        except errors.AlreadyExists:
            continue
        made: Batch | None = yield batch(id)
        if made is not None:
            return made
    raise errors.Busy


def batch(id: UUID) -> Statement[Batch | None]:
    """Codes that were made together; None if there is no such batch. One that was replaced since is among them."""

    def read(rows: Sequence[Row]) -> Batch | None:
        if not rows:
            return None
        row = rows[0]
        return Batch(
            id=id,
            institution=row["institution"],
            prefix=row["prefix"],
            pattern=row["pattern"],
            one_in=int(row["space"]) // row["codes"],
            created_at=reading.moment(row["created_at"]),
            codes=tuple(row["made"]),
        )

    return Statement(
        Sql(
            "SELECT i.slug AS institution, b.prefix, b.pattern, b.codes, b.space, b.created_at, "
            "ARRAY(SELECT c.code FROM counterfoil.code AS c WHERE c.batch_id = b.id ORDER BY c.id) AS made "
            "FROM counterfoil.code_batch AS b JOIN counterfoil.institution AS i ON i.id = b.institution_id "
            "WHERE b.id = :id::uuid"
        ),
        {"id": id},
        read,
    )


def _of_this_form(form: Form) -> Statement[int]:
    return Statement(
        Sql(
            "SELECT count(*) AS codes FROM counterfoil.code AS c WHERE c.folded ~ :form::text AND c.replaced_by IS NULL"
        ),
        {"form": form.as_regex},
        lambda rows: int(rows[0]["codes"]),
    )


def _begin(id: UUID, institution: Institution, form: Form, codes: int) -> Statement[None]:
    """Write down what is made, where the audit log has it too."""
    return Statement(
        Sql(
            "WITH made AS (INSERT INTO counterfoil.code_batch AS b "
            "(id, institution_id, prefix, pattern, codes, space, created_at) VALUES (:id::uuid, :institution::bigint, "
            ":prefix::text, :pattern::text, :codes::bigint, :space::numeric, counterfoil.clock()) RETURNING b.id) "
            "SELECT counterfoil.keep_record('codes.made', :slug::text, NULL, :told::jsonb) FROM made"
        ),
        {
            "id": id,
            "institution": institution.id,
            "slug": institution.slug,
            "prefix": form.prefix,
            "pattern": form.pattern,
            "codes": codes,
            "space": form.space,
            "told": json.dumps({"batch": str(id), "prefix": form.prefix, "pattern": form.pattern}),
        },
        lambda _: None,
    )
