-- Every institution's numbers of the periods that are now, summed over the codes that have allocations of their own; one
-- page of them, and the sums of all that fit. One row, one snapshot: what is used comes from the gates, what lives from
-- the partial indexes, and a completed row is never counted.
WITH now AS MATERIALIZED (SELECT counterfoil.clock() AS moment),
-- The few calendars there are: the key of the period is worked out once for each, not for each code.
calendars AS MATERIALIZED (
    SELECT k.*, counterfoil.period_key(k.calendar, k.year_start, k.time_zone, now.moment) AS period
    FROM now, (
        SELECT DISTINCT c.calendar, i.year_start, i.time_zone
        FROM counterfoil.code AS c
        JOIN counterfoil.institution AS i ON i.id = c.institution_id
        WHERE c.counts_with IS NULL AND c.calendar <> 'custom'
    ) AS k
),
reserved AS MATERIALIZED (
    SELECT r.counts_with, r.period, count(*) AS places, count(*) FILTER (WHERE r.expires_at > now.moment) AS held
    FROM now, counterfoil.redemption AS r
    WHERE r.status = 'reserved'
    GROUP BY r.counts_with, r.period
),
pending AS MATERIALIZED (
    SELECT r.counts_with, r.period, count(*) AS places
    FROM counterfoil.redemption AS r
    WHERE r.status = 'pending'
    GROUP BY r.counts_with, r.period
),
wanted AS MATERIALIZED (
    SELECT i.* FROM counterfoil.institution AS i
    WHERE :search::text IS NULL OR strpos(lower(i.name), lower(:search::text)) > 0 OR i.slug = :search::text
        OR EXISTS (SELECT FROM counterfoil.code AS c WHERE c.institution_id = i.id AND c.folded = :folded::text)
),
pools AS (
    SELECT
        i.id AS institution_id,
        CASE WHEN wanted.period = '' THEN 0 WHEN a.code_id IS NULL THEN c.cap ELSE a.cap END AS cap,
        coalesce(a.used, 0) - coalesce(reserved.places, 0) - coalesce(pending.places, 0) AS completed,
        coalesce(pending.places, 0) AS pending,
        coalesce(reserved.held, 0) AS held
    FROM wanted AS i
    JOIN counterfoil.code AS c ON c.institution_id = i.id AND c.counts_with IS NULL
    CROSS JOIN now
    LEFT JOIN calendars AS k ON k.calendar = c.calendar AND k.year_start = i.year_start AND k.time_zone = i.time_zone
    CROSS JOIN LATERAL (
        -- Named periods are each code's own.
        SELECT CASE
            WHEN c.calendar <> 'custom' THEN k.period
            ELSE counterfoil.current_period(c.id, c.calendar, i.year_start, i.time_zone, now.moment)
        END AS period OFFSET 0
    ) AS wanted
    LEFT JOIN counterfoil.allocation AS a ON a.code_id = c.id AND a.period = wanted.period
    LEFT JOIN reserved ON reserved.counts_with = c.id AND reserved.period = wanted.period
    LEFT JOIN pending ON pending.counts_with = c.id AND pending.period = wanted.period
),
sums AS MATERIALIZED (
    SELECT
        i.slug, i.name, i.time_zone, i.year_start,
        count(p.institution_id) AS codes,
        count(p.institution_id) FILTER (WHERE p.cap IS NULL) AS uncapped,
        coalesce(sum(p.cap), 0) AS cap,
        coalesce(sum(p.completed), 0) AS completed,
        coalesce(sum(p.pending), 0) AS pending,
        coalesce(sum(p.held), 0) AS held,
        coalesce(sum(greatest(p.cap - p.completed - p.pending - p.held, 0)), 0) AS free,
        coalesce(sum(greatest(p.completed + p.pending - p.cap, 0)), 0) AS over
    FROM wanted AS i
    LEFT JOIN pools AS p ON p.institution_id = i.id
    GROUP BY i.id, i.slug, i.name, i.time_zone, i.year_start
)
SELECT
    (
        SELECT jsonb_build_object(
            'institutions', count(*), 'codes', coalesce(sum(s.codes), 0), 'uncapped', coalesce(sum(s.uncapped), 0),
            'cap', coalesce(sum(s.cap), 0), 'completed', coalesce(sum(s.completed), 0),
            'pending', coalesce(sum(s.pending), 0), 'held', coalesce(sum(s.held), 0), 'free', coalesce(sum(s.free), 0),
            'over', coalesce(sum(s.over), 0)
        )
        FROM sums AS s
    ) AS total,
    ARRAY(
        SELECT to_jsonb(s) FROM sums AS s
        ORDER BY
            CASE WHEN :fullest::boolean THEN (s.completed + s.pending + s.held) / nullif(s.cap, 0)::numeric END
                DESC NULLS LAST,
            lower(s.name), s.slug
        OFFSET :skip::integer LIMIT :most::integer
    ) AS institutions
