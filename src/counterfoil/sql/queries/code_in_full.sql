-- A code as its page shows it: with the code whose allocations it counts against, the periods that have an allocation,
-- newest first, and of named ones that which comes after the one that is now.
SELECT
    counterfoil.code_document(c) AS code,
    pool.id AS counts_with,
    pool.code AS pool,
    ARRAY(
        SELECT a.period FROM counterfoil.allocation AS a WHERE a.code_id = pool.id
        ORDER BY a.starts_on DESC NULLS LAST, a.period DESC LIMIT 60
    ) AS periods,
    (
        SELECT next.name
        FROM counterfoil.named_period AS now
        JOIN counterfoil.named_period AS next ON next.code_id = now.code_id AND next.starts_on > now.ends_on
        WHERE now.code_id = pool.id AND now.name = current.period
        ORDER BY next.starts_on LIMIT 1
    ) AS following,
    ARRAY(
        SELECT other.code FROM counterfoil.code AS other
        WHERE (other.counts_with = pool.id OR other.id = pool.id) AND other.id <> c.id AND other.replaced_by IS NULL
        ORDER BY other.id LIMIT 20
    ) AS beside
FROM counterfoil.code AS c
JOIN counterfoil.code AS pool ON pool.id = coalesce(c.counts_with, c.id)
JOIN counterfoil.institution AS keeper ON keeper.id = pool.institution_id
CROSS JOIN LATERAL counterfoil.current_period(
    pool.id, pool.calendar, keeper.year_start, keeper.time_zone, counterfoil.clock()
) AS current (period)
WHERE c.folded = :folded::text
