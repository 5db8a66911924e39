-- Release these rows, whatever for, and end the checkouts that belong to them. Answers how many still held a place.
--
-- The allocation's lock is held by the caller, who then says so to `occupy`. The rows are updated and not merely
-- locked: a payment that waits for one of them then tests its own condition again, and finds it released.
CREATE FUNCTION counterfoil.end_redemption(counts_with bigint, ids uuid[], reason text, moment timestamptz)
RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
    claim counterfoil.redemption;
    sale counterfoil.checkout;
    ended uuid[] := '{}';
BEGIN
    FOR claim IN
        UPDATE counterfoil.redemption AS r
        SET status = 'released', released_at = moment, release_reason = reason
        WHERE r.counts_with = end_redemption.counts_with AND r.id = ANY (ids)
            -- guard: only-what-holds-a-place-is-released
            AND r.status IN ('reserved', 'pending')
        RETURNING r.*
    LOOP
        ended := ended || claim.id;
        PERFORM counterfoil.step(claim, 'released', moment);
        PERFORM counterfoil.announce_redemption(claim);
    END LOOP;
    FOR sale IN
        UPDATE counterfoil.checkout AS c
        SET status = CASE
                WHEN reason IN ('lapsed', 'session_expired') THEN 'expired'
                WHEN reason IN ('creation_failed', 'payment_failed') THEN 'failed'
                ELSE 'cancelled'
            END
        WHERE c.counts_with = end_redemption.counts_with AND c.redemption_id = ANY (ended)
            AND c.status IN ('open', 'pending')
        RETURNING c.*
    LOOP
        PERFORM counterfoil.announce_checkout(sale);
    END LOOP;
    RETURN cardinality(ended);
END
$$;
