-- A refund failed: the redemption is completed as before. A place that had been returned is taken again, over the cap if
-- somebody else has it by now. Answers whether it had been refunded. The allocation's lock is held by the caller.
CREATE FUNCTION counterfoil.reinstate(counts_with bigint, redemption uuid) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    claim counterfoil.redemption;
    restored counterfoil.redemption;
BEGIN
    SELECT r.* INTO claim FROM counterfoil.redemption AS r
    WHERE r.counts_with = reinstate.counts_with AND r.id = reinstate.redemption
        AND r.status IN ('completed', 'refunded') AND r.refunded_at IS NOT NULL
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE counterfoil.redemption AS r
    SET status = 'completed', refunded_at = NULL,
        over_cap = CASE
            WHEN claim.status = 'refunded' THEN counterfoil.honour(claim.counts_with, claim.period, claim.id)
            ELSE r.over_cap
        END
    WHERE r.counts_with = claim.counts_with AND r.id = claim.id
    RETURNING r.* INTO restored;
    IF claim.status = 'refunded' THEN
        PERFORM counterfoil.step(restored, 'reinstated', (SELECT counterfoil.clock()));
        PERFORM counterfoil.announce_redemption(restored);
    END IF;
    RETURN true;
END
$$;
