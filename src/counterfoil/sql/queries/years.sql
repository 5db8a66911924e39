-- The periods in which an institution's codes had places, newest first, each with its sums over them.
WITH now AS MATERIALIZED (SELECT counterfoil.clock() AS moment),
pools AS MATERIALIZED (
    SELECT c.id FROM counterfoil.code AS c
    WHERE c.institution_id = :institution::bigint AND c.counts_with IS NULL
),
reserved AS MATERIALIZED (
    SELECT r.counts_with, r.period, count(*) AS places, count(*) FILTER (WHERE r.expires_at > now.moment) AS held
    FROM now, counterfoil.redemption AS r
    WHERE r.status = 'reserved' AND r.counts_with IN (SELECT p.id FROM pools AS p)
    GROUP BY r.counts_with, r.period
),
pending AS MATERIALIZED (
    SELECT r.counts_with, r.period, count(*) AS places
    FROM counterfoil.redemption AS r
    WHERE r.status = 'pending' AND r.counts_with IN (SELECT p.id FROM pools AS p)
    GROUP BY r.counts_with, r.period
),
counted AS (
    SELECT
        a.period, a.starts_on, a.cap,
        a.used - coalesce(reserved.places, 0) - coalesce(pending.places, 0) AS completed,
        coalesce(pending.places, 0) AS pending,
        coalesce(reserved.held, 0) AS held
    FROM pools AS p
    JOIN counterfoil.allocation AS a ON a.code_id = p.id
    LEFT JOIN reserved ON reserved.counts_with = a.code_id AND reserved.period = a.period
    LEFT JOIN pending ON pending.counts_with = a.code_id AND pending.period = a.period
)
SELECT
    c.period,
    count(*) AS codes,
    count(*) FILTER (WHERE c.cap IS NULL) AS uncapped,
    coalesce(sum(c.cap), 0) AS cap,
    sum(c.completed) AS completed,
    sum(c.pending) AS pending,
    sum(c.held) AS held,
    coalesce(sum(greatest(c.cap - c.completed - c.pending - c.held, 0)), 0) AS free,
    coalesce(sum(greatest(c.completed + c.pending - c.cap, 0)), 0) AS over
FROM counted AS c
GROUP BY c.period
ORDER BY min(c.starts_on) DESC NULLS LAST, c.period DESC
LIMIT :most::integer
