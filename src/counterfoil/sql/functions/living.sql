-- What of an allocation is not settled yet, at a moment: its holds, those of them that live, and its delayed payments. For
-- the queries that show it; the gate has its own, `room`. One row, also where there is nothing.
CREATE FUNCTION counterfoil.living(counts_with bigint, period text, moment timestamptz)
RETURNS TABLE (
    reserved bigint, held bigint, pending bigint, next_release_at timestamptz, last_release_at timestamptz
)
LANGUAGE sql STABLE
AS $$
    SELECT holds.places, holds.held, payments.places, holds.next_release_at, holds.last_release_at
    FROM (
        SELECT
            count(*) AS places,
            count(*) FILTER (WHERE r.expires_at > living.moment) AS held,
            min(r.expires_at) FILTER (WHERE r.expires_at > living.moment) AS next_release_at,
            max(r.expires_at) FILTER (WHERE r.expires_at > living.moment) AS last_release_at
        FROM counterfoil.redemption AS r
        WHERE r.counts_with = living.counts_with AND r.period = living.period AND r.status = 'reserved'
    ) AS holds
    CROSS JOIN (
        SELECT count(*) AS places FROM counterfoil.redemption AS r
        WHERE r.counts_with = living.counts_with AND r.period = living.period AND r.status = 'pending'
    ) AS payments
$$;
