"""A code that leaked, and the one that takes its place."""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil import errors, reading
from counterfoil.codes import check_code, fold
from counterfoil.model import Code
from counterfoil.statement import Row, Sql, Statement


def replace_code(*, old: str, new: str) -> Statement[Code]:
    """
    Put another code in the place of one that leaked: the new one.

    The old lets nobody in from now on, for good. The new has all its terms, is not paused, and counts where it counted:
    places, and what each buyer used. Whoever holds a place may finish, or take it along to the new code.

    Raises (when run):
        CodeUnknown: There is no code to replace.
        CodeReplaced: It was replaced before: replace the code in force instead.
        AlreadyExists: A code that reads like the new one was given before.
    """
    stored = check_code(new)

    def read(rows: Sequence[Row]) -> Code:
        row = rows[0]
        if row["outcome"] == "unknown":
            raise errors.CodeUnknown(old)
        made = reading.code(row["code"])
        if row["outcome"] == "replaced_before":
            raise errors.CodeReplaced(old, replaced_by=made.code)
        return made

    return Statement(
        Sql(
            "SELECT r.outcome, CASE WHEN (r.successor).id IS NOT NULL THEN counterfoil.code_document(r.successor) END "
            "AS code FROM counterfoil.replace_code("
            "old => :old::text, code => :code::text, folded => :folded::text) AS r"
        ),
        {"old": fold(old), "code": stored, "folded": fold(stored)},
        read,
    )
