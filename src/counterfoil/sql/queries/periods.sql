-- The periods of a code that have an allocation, newest first.
WITH had AS MATERIALIZED (
    SELECT a.period, coalesce(a.starts_on, '-infinity') AS starts_on
    FROM counterfoil.code AS c
    JOIN counterfoil.allocation AS a ON a.code_id = coalesce(c.counts_with, c.id)
    WHERE c.folded = :code::text
)
SELECT h.period
FROM had AS h
WHERE :after::text IS NULL
    OR (h.starts_on, h.period) < (SELECT before.starts_on, before.period FROM had AS before WHERE before.period = :after::text)
ORDER BY h.starts_on DESC, h.period DESC
LIMIT :most::integer
