-- Let an event be delivered again, from the first attempt: to one endpoint, or to all that want its type.
WITH now AS (SELECT counterfoil.clock() AS moment)
INSERT INTO counterfoil.delivery AS d (seq, endpoint_id, subject, next_attempt_at)
SELECT e.seq, w.id, e.subject, now.moment
FROM now, counterfoil.event AS e, counterfoil.webhook_endpoint AS w
WHERE e.seq = :seq::bigint AND w.disabled_at IS NULL
    AND CASE
        WHEN :endpoint::bigint IS NOT NULL THEN w.id = :endpoint::bigint
        ELSE w.types IS NULL OR e.type = ANY (w.types)
    END
ON CONFLICT (seq, endpoint_id) DO UPDATE
SET attempts = 0, next_attempt_at = excluded.next_attempt_at, delivered_at = NULL
RETURNING d.endpoint_id
