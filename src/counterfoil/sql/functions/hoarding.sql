-- One row if an address may not hold another place of a code now; no row if it may.
--
-- From one address as many holds may be unpaid, at once and over a day, as there are places free; of the last places
-- `allowed`, and three more for each that it paid: most who begin to pay do not, and a school sits behind one address.
-- So a class that pays is let in, and invented buyers run dry.
--
-- A place that we gave up, or that moved to another product, does not count. `taken` is the place that is being decided
-- about, if it is counted in the allocation already. `until` is when the oldest is a day old, null while one of them may
-- still be paid.
CREATE FUNCTION counterfoil.hoarding(
    counts_with bigint,
    period text,
    origin text,
    allowed integer,
    taken integer,
    moment timestamptz
)
RETURNS TABLE (unpaid bigint, until timestamptz)
LANGUAGE sql STABLE
AS $$
    SELECT
        theirs.unpaid,
        CASE WHEN theirs.live = 0 THEN theirs.oldest + interval '1 day' END
    FROM (
        SELECT
            count(*) FILTER (WHERE r.status IN ('completed', 'pending', 'refunded')) AS paid,
            count(*) FILTER (WHERE r.status = 'reserved' AND r.expires_at > hoarding.moment) AS live,
            count(*) FILTER (WHERE left_unpaid.it) AS unpaid,
            min(r.reserved_at) FILTER (WHERE left_unpaid.it) AS oldest
        FROM counterfoil.redemption AS r
        CROSS JOIN LATERAL (
            SELECT r.status = 'reserved' OR (
                r.status = 'released' AND r.release_reason NOT IN ('creation_failed', 'superseded', 'by_hand')
            ) AS it
        ) AS left_unpaid
        WHERE r.counts_with = hoarding.counts_with AND r.origin = hoarding.origin
            AND r.reserved_at > hoarding.moment - interval '1 day'
    ) AS theirs
    JOIN counterfoil.allocation AS a ON a.code_id = hoarding.counts_with AND a.period = hoarding.period
    WHERE theirs.unpaid >= greatest(hoarding.allowed + 3 * theirs.paid, a.cap - a.used + hoarding.taken)
        -- Where there is no cap there are no last places.
        AND a.cap IS NOT NULL
$$;
