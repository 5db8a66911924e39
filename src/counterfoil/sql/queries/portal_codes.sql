-- An institution's codes with how full they are, newest first: of one period, or each of its own that is now. As usage.sql,
-- and until when all holds of now are over. Of a code that was replaced, the one in force.
SELECT
    counterfoil.code_document(c) AS code,
    c.folded,
    wanted.period,
    days.starts_on,
    days.ends_on,
    CASE WHEN wanted.period = '' THEN 0 WHEN a.code_id IS NULL THEN pool.cap ELSE a.cap END AS cap,
    coalesce(a.used, 0) - living.pending - living.reserved AS completed,
    living.pending,
    living.held,
    living.next_release_at,
    living.last_release_at,
    a.note,
    (
        SELECT jsonb_build_object('more', q.more, 'cap', q.cap, 'asked_at', q.asked_at, 'seen_at', m.resolved_at)
        FROM counterfoil.places_request AS q
        JOIN counterfoil.institution AS i ON i.id = q.institution_id
        JOIN counterfoil.code AS asked ON asked.id = q.code_id
        LEFT JOIN counterfoil.attention AS m
            ON m.kind = 'more-places-wanted' AND m.subject = i.slug || '/' || asked.code || '/' || q.period
        WHERE q.institution_id = c.institution_id AND q.counts_with = pool.id AND q.period = wanted.period
        ORDER BY q.asked_at DESC LIMIT 1
    ) AS request
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
WHERE c.institution_id = :institution::bigint
    AND c.replaced_by IS NULL
    AND (:code::text IS NULL OR c.id = (
        SELECT coalesce(typed.replaced_by, typed.id) FROM counterfoil.code AS typed WHERE typed.folded = :code::text
    ))
    AND (:after::bigint IS NULL OR c.id < :after::bigint)
ORDER BY c.id DESC
LIMIT :most::integer
