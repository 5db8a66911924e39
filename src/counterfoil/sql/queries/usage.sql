-- How full one allocation is, in one snapshot: what is used comes from the gate, what lives from the partial indexes.
SELECT
    c.code,
    wanted.period,
    CASE WHEN a.code_id IS NULL THEN pool.cap ELSE a.cap END AS cap,
    coalesce(a.used, 0) - living.pending - living.reserved AS completed,
    living.pending,
    living.held,
    living.next_release_at,
    a.note,
    days.starts_on,
    days.ends_on
FROM counterfoil.code AS c
JOIN counterfoil.code AS pool ON pool.id = coalesce(c.counts_with, c.id)
JOIN counterfoil.institution AS keeper ON keeper.id = pool.institution_id
CROSS JOIN LATERAL (SELECT counterfoil.clock() AS moment OFFSET 0) AS now
CROSS JOIN LATERAL (
    SELECT coalesce(:period::text, key) AS period, key AS current
    FROM counterfoil.current_period(
        pool.id, pool.calendar, keeper.year_start, keeper.time_zone, now.moment
    ) AS key
) AS wanted
LEFT JOIN counterfoil.allocation AS a ON a.code_id = pool.id AND a.period = wanted.period
CROSS JOIN LATERAL counterfoil.living(pool.id, wanted.period, now.moment) AS living
CROSS JOIN LATERAL counterfoil.days_told(
    a, pool.id, pool.calendar, keeper.year_start, wanted.period, wanted.current
) AS days
WHERE c.folded = :code::text
