"""The codes that there are, for a file: those in force, in an order in which they can be added again."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from counterfoil import reading
from counterfoil.importing import own
from counterfoil.statement import Row, Sql, Statement


def lines_after(
    *, after: int = 0, institution: int | None = None, batch: UUID | None = None, most: int = 500
) -> Statement[tuple[list[list[str]], int | None]]:
    """
    The next lines of a table of codes, oldest first: their cells, and where the lines after them begin; None: nowhere.

    A code that was replaced is in none: the one in force is, and is said to be what others count with.
    """

    def read(rows: Sequence[Row]) -> tuple[list[list[str]], int | None]:
        made = [own.line(reading.code(row["code"]), row["pool"]) for row in rows]
        return made, rows[-1]["id"] if len(rows) == most else None

    return Statement(
        Sql(
            "SELECT c.id, counterfoil.code_document(c) AS code, "
            "nullif(counterfoil.in_force(pool), c.code) AS pool "
            "FROM counterfoil.code AS c JOIN counterfoil.code AS pool ON pool.id = coalesce(c.counts_with, c.id) "
            "WHERE c.replaced_by IS NULL AND c.id > :after::bigint "
            "AND (:institution::bigint IS NULL OR c.institution_id = :institution::bigint) "
            "AND (:batch::uuid IS NULL OR c.batch_id = :batch::uuid) ORDER BY c.id LIMIT :most::integer"
        ),
        {"after": after, "institution": institution, "batch": batch, "most": most},
        read,
    )
