-- What became of the events for one endpoint, newest first.
SELECT
    d.seq, e.id AS event, e.type, d.attempts, d.next_attempt_at, d.delivered_at, d.last_attempt_at, d.last_status,
    d.last_error
FROM counterfoil.delivery AS d
JOIN counterfoil.event AS e ON e.seq = d.seq
WHERE d.endpoint_id = :endpoint::bigint AND (:after::bigint IS NULL OR d.seq < :after::bigint)
ORDER BY d.seq DESC
LIMIT :most::integer
