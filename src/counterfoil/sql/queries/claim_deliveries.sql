-- Take on deliveries to one endpoint that are due: at most one event of each subject, the oldest that is not delivered. They
-- are due again after the lease, should whoever took them on die. What another sender is taking on is left to it.
WITH now AS MATERIALIZED (SELECT counterfoil.clock() AS moment),
due AS (
    SELECT d.seq, d.endpoint_id, now.moment
    FROM now, counterfoil.delivery AS d
    WHERE d.endpoint_id = :endpoint::bigint AND d.next_attempt_at <= now.moment
        -- Whoever writes a later event of a subject waited for the transaction of the earlier one: if this one is seen, so
        -- is that.
        AND NOT EXISTS (
            SELECT FROM counterfoil.delivery AS earlier
            WHERE earlier.endpoint_id = d.endpoint_id AND earlier.subject = d.subject AND earlier.next_attempt_at IS NOT NULL
                -- guard: in-order-of-its-subject
                AND earlier.seq < d.seq
        )
    ORDER BY d.seq
    LIMIT :most::integer
    FOR UPDATE OF d SKIP LOCKED
)
UPDATE counterfoil.delivery AS d
SET attempts = d.attempts + 1, last_attempt_at = due.moment, next_attempt_at = due.moment + :lease::interval
FROM due, counterfoil.event AS e, counterfoil.webhook_endpoint AS w
WHERE d.seq = due.seq AND d.endpoint_id = due.endpoint_id AND e.seq = due.seq
    AND w.disabled_at IS NULL
    AND w.id = due.endpoint_id
RETURNING d.attempts, w.url, w.secret, e.seq, e.id, e.type, e.created_at, e.data
