-- The oldest events, if they are old enough. Those that are still on their way are passed over.
WITH oldest AS MATERIALIZED (
    SELECT e.seq, e.created_at FROM counterfoil.event AS e
    WHERE NOT EXISTS (
        SELECT FROM counterfoil.delivery AS d WHERE d.seq = e.seq AND d.next_attempt_at IS NOT NULL
    )
    ORDER BY e.seq
    LIMIT :most::integer
), old AS MATERIALIZED (
    SELECT o.seq FROM oldest AS o WHERE o.created_at < (SELECT counterfoil.clock()) - :kept::interval
), undelivered AS (
    DELETE FROM counterfoil.delivery AS d USING old WHERE d.seq = old.seq
), gone AS (
    DELETE FROM counterfoil.event AS e USING old WHERE e.seq = old.seq RETURNING e.seq
)
SELECT count(*) AS number FROM gone
