-- A code as its page shows it: with the code whose allocations it counts against, who keeps that one's calendar, and the
-- periods that have an allocation, newest first.
SELECT
    counterfoil.code_document(c) AS code,
    pool.id AS counts_with,
    pool.code AS pool,
    pool.calendar,
    keeper.year_start,
    ARRAY(
        SELECT a.period FROM counterfoil.allocation AS a WHERE a.code_id = pool.id ORDER BY a.period DESC LIMIT 60
    ) AS periods,
    ARRAY(
        SELECT other.code FROM counterfoil.code AS other
        WHERE (other.counts_with = pool.id OR other.id = pool.id) AND other.id <> c.id AND other.replaced_by IS NULL
        ORDER BY other.id LIMIT 20
    ) AS beside
FROM counterfoil.code AS c
JOIN counterfoil.code AS pool ON pool.id = coalesce(c.counts_with, c.id)
JOIN counterfoil.institution AS keeper ON keeper.id = pool.institution_id
WHERE c.folded = :folded::text
