-- The occupancy of an allocation over a span of time, in one snapshot. One row, or none if the code is unknown.
--
-- It is counted back from now, where the gate and the partial indexes know it: so what it costs is the steps since the
-- beginning of the span, and not the rows of a year. Of more than `steps` steps before its end the span begins later.
--
-- `points`: up to `buckets` of them each step by itself (`exact`); else the span in that many buckets, and of each that
-- has steps the highest moment, `at`, and how it ended. Never an average, and never the highest of each kind by itself:
-- those may have been at different moments, and their sum is more than ever was.
WITH now AS MATERIALIZED (SELECT counterfoil.clock() AS moment),
place AS MATERIALIZED (
    SELECT
        pool.id, pool.code, wanted.period, wanted.period = wanted.current AS is_current, keeper.time_zone,
        CASE WHEN a.code_id IS NULL THEN pool.cap ELSE a.cap END AS cap,
        coalesce(a.used, 0) AS used, coalesce(a.created_at, now.moment) AS created_at
    FROM now
    CROSS JOIN counterfoil.code AS c
    JOIN counterfoil.code AS pool ON pool.id = coalesce(c.counts_with, c.id)
    JOIN counterfoil.institution AS keeper ON keeper.id = pool.institution_id
    CROSS JOIN LATERAL (
        SELECT coalesce(:period::text, key) AS period, key AS current
        FROM counterfoil.current_period(
            pool.id, pool.calendar, keeper.year_start, keeper.time_zone, now.moment
        ) AS key
    ) AS wanted
    LEFT JOIN counterfoil.allocation AS a ON a.code_id = pool.id AND a.period = wanted.period
    WHERE c.folded = :code::text
),
ends AS MATERIALIZED (
    -- The picture of a period that is over ends with the last that happened in it.
    SELECT least(now.moment, coalesce(
        :until::timestamptz, CASE WHEN NOT place.is_current THEN last.at END, now.moment
    )) AS until
    FROM now, place
    LEFT JOIN LATERAL (
        SELECT max(s.at) AS at FROM counterfoil.step AS s
        WHERE s.counts_with = place.id AND s.period = place.period
    ) AS last ON true
),
bound AS MATERIALIZED (
    SELECT oldest.at
    FROM place, ends
    CROSS JOIN LATERAL (
        SELECT s.at FROM counterfoil.step AS s
        WHERE s.counts_with = place.id AND s.period = place.period AND s.at <= ends.until
        ORDER BY s.at DESC OFFSET :steps::integer LIMIT 1
    ) AS oldest
),
span AS MATERIALIZED (
    SELECT
        whole.since, ends.until,
        -- In microseconds, so that no bucket begins between two of them.
        greatest(ceil(date_part('epoch', ends.until - whole.since) * 1000000 / :buckets::integer), 1)::bigint AS width,
        EXISTS (SELECT FROM bound WHERE bound.at > coalesce(:since::timestamptz, first.at)) AS shortened
    FROM place
    CROSS JOIN ends
    LEFT JOIN LATERAL (
        SELECT min(s.at) AS at FROM counterfoil.step AS s WHERE s.counts_with = place.id AND s.period = place.period
    ) AS first ON true
    CROSS JOIN LATERAL (
        SELECT least(
            greatest(coalesce(:since::timestamptz, first.at, place.created_at), (SELECT b.at FROM bound AS b)),
            ends.until
        ) AS since
    ) AS whole
),
-- What it is now, less what happened since: as it was just before the span, and no step is read twice to know it.
opening AS MATERIALIZED (
    SELECT
        alive.reserved - after.reserved AS reserved,
        alive.pending - after.pending AS pending,
        place.used - alive.reserved - alive.pending - after.completed AS completed,
        after.within
    FROM place
    CROSS JOIN span
    CROSS JOIN LATERAL (
        SELECT
            (
                SELECT count(*) FROM counterfoil.redemption AS r
                WHERE r.counts_with = place.id AND r.period = place.period AND r.status = 'reserved'
            ) AS reserved,
            (
                SELECT count(*) FROM counterfoil.redemption AS r
                WHERE r.counts_with = place.id AND r.period = place.period AND r.status = 'pending'
            ) AS pending
    ) AS alive
    CROSS JOIN LATERAL (
        SELECT
            coalesce(sum(s.reserved), 0) AS reserved,
            coalesce(sum(s.pending), 0) AS pending,
            coalesce(sum(s.completed), 0) AS completed,
            count(*) FILTER (WHERE s.at <= span.until) AS within
        FROM counterfoil.step AS s
        WHERE s.counts_with = place.id AND s.period = place.period AND s.at >= span.since
    ) AS after
),
running AS (
    SELECT
        date_part('epoch', s.at - span.since) * 1000000 AS microseconds,
        opening.within <= :buckets::integer AS exact,
        span.width,
        s.reserved, s.pending, s.completed,
        opening.reserved + sum(s.reserved) OVER moments AS reserved_then,
        opening.pending + sum(s.pending) OVER moments AS pending_then,
        opening.completed + sum(s.completed) OVER moments AS completed_then
    FROM place, span, opening, counterfoil.step AS s
    WHERE s.counts_with = place.id AND s.period = place.period AND s.at >= span.since AND s.at <= span.until
    -- Steps of the same moment are one.
    WINDOW moments AS (ORDER BY s.at)
),
points AS (
    SELECT
        CASE WHEN r.exact THEN r.microseconds::bigint ELSE r.microseconds::bigint / r.width * r.width END AS since,
        max(ARRAY[
            (r.reserved_then + r.pending_then + r.completed_then)::bigint,
            r.completed_then::bigint, r.pending_then::bigint, r.microseconds::bigint
        ]) AS highest,
        sum(r.reserved) AS reserved, sum(r.pending) AS pending, sum(r.completed) AS completed
    FROM running AS r
    GROUP BY 1
),
-- Holds that had lapsed and were still counted: from when to when. A renewed one is live again.
lapses AS MATERIALIZED (
    SELECT s.lapsed_at, s.at AS until
    FROM place, span, counterfoil.step AS s
    WHERE s.counts_with = place.id AND s.period = place.period AND s.at >= span.since
        AND (s.lapsed_at IS NOT NULL OR s.kind IN ('completed_late', 'reinstated'))
        AND s.lapsed_at <= span.until
    UNION ALL
    SELECT r.expires_at, NULL
    FROM place, span, counterfoil.redemption AS r
    WHERE r.counts_with = place.id AND r.period = place.period AND r.status = 'reserved' AND r.expires_at <= span.until
)
SELECT
    place.period, place.time_zone, place.cap, span.since, span.until, span.shortened, now.moment AS read_at,
    opening.within <= :buckets::integer AS exact, span.width, opening.within AS steps,
    opening.reserved, opening.pending, opening.completed,
    (
        SELECT jsonb_agg(jsonb_build_array(
            p.since, p.highest[4], p.highest[1] - p.highest[2] - p.highest[3], p.highest[3], p.highest[2],
            p.reserved, p.pending, p.completed
        ) ORDER BY p.since)
        FROM points AS p
    ) AS points,
    (
        SELECT jsonb_agg(jsonb_build_array(
            (date_part('epoch', l.lapsed_at - span.since) * 1000000)::bigint,
            (date_part('epoch', l.until - span.since) * 1000000)::bigint
        ) ORDER BY l.lapsed_at)
        FROM lapses AS l
    ) AS lapses,
    (
        SELECT jsonb_agg(to_jsonb(late) ORDER BY late.at)
        FROM (
            SELECT s.at, s.redemption, s.kind, s.over_cap
            FROM counterfoil.step AS s
            WHERE s.counts_with = place.id AND s.period = place.period AND s.at >= span.since AND s.at <= span.until
                AND (s.lapsed_at IS NOT NULL OR s.kind IN ('completed_late', 'reinstated'))
                AND s.kind IN ('completed_late', 'reinstated')
            -- Those over the cap are never left out for those that were not.
            ORDER BY s.over_cap DESC, s.at DESC
            LIMIT 400
        ) AS late
    ) AS late,
    (
        SELECT jsonb_agg(to_jsonb(change) ORDER BY change.id)
        FROM (
            SELECT
                l.id, l.at, (l.before ->> 'cap')::bigint AS cap_before, (l.after ->> 'cap')::bigint AS cap_after,
                l.after ->> 'note' AS note
            FROM counterfoil.audit AS l
            WHERE l.subject = place.code || ' ' || place.period AND l.action = 'cap.set'
            ORDER BY l.id DESC LIMIT 200
        ) AS change
        WHERE change.cap_before IS DISTINCT FROM change.cap_after
    ) AS caps
FROM now, place, span, opening
