-- Codes with the numbers of the period that is now, newest first: of one institution or of all; with a text in the code or
-- in the institution's name. A line whose parameter is not given is left out (`Sql.given`).
SELECT
    counterfoil.code_document(chosen.code) AS document,
    (chosen.code).code,
    wanted.period,
    CASE WHEN wanted.period = '' THEN 0 WHEN a.code_id IS NULL THEN pool.cap ELSE a.cap END AS cap,
    coalesce(a.used, 0) - living.pending - living.reserved AS completed,
    living.pending,
    living.held,
    living.next_release_at,
    a.note
FROM (
    SELECT c AS code, c.id, coalesce(c.counts_with, c.id) AS counts_with
    FROM counterfoil.code AS c
    JOIN counterfoil.institution AS i ON i.id = c.institution_id
    WHERE true
        AND c.institution_id = :institution::bigint
        AND (strpos(c.folded, :folded::text) > 0 OR strpos(lower(i.name), lower(:search::text)) > 0)
        AND c.id < :after::bigint
    ORDER BY c.id DESC
    LIMIT :most::integer
) AS chosen
JOIN counterfoil.code AS pool ON pool.id = chosen.counts_with
JOIN counterfoil.institution AS keeper ON keeper.id = pool.institution_id
CROSS JOIN LATERAL (SELECT counterfoil.clock() AS moment OFFSET 0) AS now
CROSS JOIN LATERAL (
    SELECT counterfoil.current_period(
        pool.id, pool.calendar, keeper.year_start, keeper.time_zone, now.moment
    ) AS period OFFSET 0
) AS wanted
LEFT JOIN counterfoil.allocation AS a ON a.code_id = pool.id AND a.period = wanted.period
CROSS JOIN LATERAL counterfoil.living(pool.id, wanted.period, now.moment) AS living
ORDER BY chosen.id DESC
