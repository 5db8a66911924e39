"""
Idempotency keys: a request that is sent twice is done once.

Only 2xx answers are remembered, and not as bytes: what is kept is which resource it was, and a replay answers that
resource as it is *now*. A refusal is forgotten, so that trying again is trying again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from counterfoil.statement import Row, Sql, Statement


@dataclass(frozen=True)
class Remembered:
    """What is known of a key: None for *status* while the first request is at work."""

    same_request: bool
    status: int | None
    resource: str | None


def begin(*, key_id: int, key: str, fingerprint: bytes) -> Statement[Remembered | None]:
    """
    Claim a key. None: it is ours, go on. Otherwise what is known of it.

    A key is kept for 24 hours. A request that has been at work for two minutes died on the way.
    """

    def read(rows: Sequence[Row]) -> Remembered | None:
        row = rows[0]
        return None if row["ours"] else Remembered(row["same_request"], row["status"], row["resource"])

    return Statement(
        Sql(
            """
            WITH now AS (SELECT counterfoil.clock() AS moment),
            forgotten AS (
                DELETE FROM counterfoil.idempotency WHERE ctid IN (
                    SELECT i.ctid FROM counterfoil.idempotency AS i, now
                    WHERE i.begun_at < now.moment - interval '24 hours'
                        AND NOT (i.key_id = :key_id::bigint AND i.key = :key::text)
                    ORDER BY i.begun_at LIMIT 10 FOR UPDATE OF i SKIP LOCKED
                )
            ),
            ours AS (
                INSERT INTO counterfoil.idempotency AS i (key_id, key, fingerprint, begun_at)
                SELECT :key_id::bigint, :key::text, :fingerprint::bytea, now.moment FROM now
                ON CONFLICT (key_id, key) DO UPDATE
                SET fingerprint = excluded.fingerprint, begun_at = excluded.begun_at, status = NULL, resource = NULL
                WHERE i.begun_at < excluded.begun_at - interval '24 hours'
                    OR (i.status IS NULL AND i.begun_at < excluded.begun_at - interval '2 minutes')
                RETURNING true
            )
            SELECT true AS ours, true AS same_request, NULL::integer AS status, NULL::text AS resource FROM ours
            UNION ALL
            SELECT false, i.fingerprint = :fingerprint::bytea, i.status, i.resource
            FROM counterfoil.idempotency AS i
            WHERE i.key_id = :key_id::bigint AND i.key = :key::text AND NOT EXISTS (SELECT FROM ours)
            UNION ALL
            -- Claimed by another request in this very instant: it is at work, that is all there is to know.
            SELECT false, true, NULL, NULL
            WHERE NOT EXISTS (SELECT FROM ours) AND NOT EXISTS (
                SELECT FROM counterfoil.idempotency AS i WHERE i.key_id = :key_id::bigint AND i.key = :key::text
            )
            """
        ),
        {"key_id": key_id, "key": key, "fingerprint": fingerprint},
        read,
    )


def forget_old(*, most: int = 500) -> Statement[bool]:
    """Forget what was kept for 24 hours, also where no request comes that would do it. Whether there may be more."""
    return Statement(
        Sql(
            "DELETE FROM counterfoil.idempotency WHERE ctid IN (SELECT i.ctid FROM counterfoil.idempotency AS i "
            "WHERE i.begun_at < (SELECT counterfoil.clock()) - interval '24 hours' "
            "ORDER BY i.begun_at LIMIT :most::integer FOR UPDATE SKIP LOCKED) RETURNING key_id"
        ),
        {"most": most},
        lambda rows: len(rows) == most,
    )


def remember(*, key_id: int, key: str, status: int, resource: str) -> Statement[None]:
    """The request was done: what it answered with, and which resource that is."""
    return Statement(
        Sql(
            "UPDATE counterfoil.idempotency SET status = :status::integer, resource = :resource::text "
            "WHERE key_id = :key_id::bigint AND key = :key::text RETURNING key_id"
        ),
        {"key_id": key_id, "key": key, "status": status, "resource": resource},
        lambda _: None,
    )


def forget(*, key_id: int, key: str) -> Statement[None]:
    """The request was refused: the key is free again."""
    return Statement(
        Sql(
            "DELETE FROM counterfoil.idempotency WHERE key_id = :key_id::bigint AND key = :key::text "
            "AND status IS NULL RETURNING key_id"
        ),
        {"key_id": key_id, "key": key},
        lambda _: None,
    )
