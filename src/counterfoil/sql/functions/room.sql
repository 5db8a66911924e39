-- How full an allocation is at a moment: one statement, one snapshot, no lock, nothing written.
-- `lapsed` and `overdue` are what Stripe is asked about: holds, and delayed payments, whose time is over.
-- No row: nobody ever needed this allocation.
CREATE FUNCTION counterfoil.room(counts_with bigint, period text, moment timestamptz)
RETURNS TABLE (cap bigint, used bigint, held bigint, lapsed bigint, overdue bigint, next_release_at timestamptz)
LANGUAGE sql STABLE
AS $$
    SELECT a.cap, a.used, live.held, live.lapsed, late.overdue, live.next_release_at
    FROM counterfoil.allocation AS a
    CROSS JOIN LATERAL (
        SELECT
            count(*) FILTER (WHERE r.expires_at > room.moment) AS held,
            count(*) FILTER (WHERE r.expires_at <= room.moment) AS lapsed,
            min(r.expires_at) FILTER (WHERE r.expires_at > room.moment) AS next_release_at
        FROM counterfoil.redemption AS r
        WHERE r.counts_with = a.code_id AND r.period = a.period AND r.status = 'reserved'
    ) AS live
    CROSS JOIN LATERAL (
        SELECT count(*) AS overdue FROM counterfoil.redemption AS r
        WHERE r.counts_with = a.code_id AND r.period = a.period AND r.status = 'pending' AND r.expires_at <= room.moment
    ) AS late
    WHERE a.code_id = room.counts_with AND a.period = room.period
$$;
