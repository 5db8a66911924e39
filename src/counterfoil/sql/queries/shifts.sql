-- What another zone, another start of the year or another calendar would make of the period that is now: of each code of an
-- institution that has allocations of its own, those first whose period would be another.
SELECT c.code, before.period AS was, after.period AS becomes, days.starts_on, days.ends_on
FROM counterfoil.institution AS i
JOIN counterfoil.code AS c ON c.institution_id = i.id AND c.counts_with IS NULL
CROSS JOIN LATERAL (SELECT counterfoil.clock() AS moment OFFSET 0) AS now
CROSS JOIN LATERAL (
    SELECT
        coalesce(:calendar::text, c.calendar) AS calendar,
        coalesce(:time_zone::text, i.time_zone) AS time_zone,
        coalesce(:year_start::text, i.year_start) AS year_start
) AS new
CROSS JOIN LATERAL counterfoil.current_period(
    c.id, c.calendar, i.year_start, i.time_zone, now.moment
) AS before (period)
CROSS JOIN LATERAL counterfoil.current_period(
    c.id, new.calendar, new.year_start, new.time_zone, now.moment
) AS after (period)
LEFT JOIN LATERAL counterfoil.period_days(c.id, new.calendar, new.year_start, after.period) AS days ON true
WHERE i.slug = :institution::text AND (:code::bigint IS NULL OR c.id = :code::bigint)
ORDER BY before.period = after.period, c.id
LIMIT :most::integer
