-- Spend the place of a redemption that was paid for. Money that arrived is honoured: a lapsed hold completes, and so
-- does a released one, over the cap if need be. Always one row; outcome:
--   completed         in time: the place was still counted, so the allocation is not touched
--   completed_late    it had been given back, and re-enters; `over_cap` says if the cap was passed for it
--   already_settled   it was completed, or refunded, before
CREATE FUNCTION counterfoil.complete(
    counts_with bigint,
    id uuid,
    session_id text,
    session_expires_at timestamptz,
    lock_timeout interval
)
RETURNS TABLE (outcome text, claim counterfoil.redemption)
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz;
BEGIN
    PERFORM counterfoil.must_be_read_committed();
    -- The clock is read where the row is locked: if it waits for somebody else's transition, again after that.
    UPDATE counterfoil.redemption AS r SET status = 'completed', completed_at = counterfoil.clock()
    WHERE r.counts_with = complete.counts_with AND r.id = complete.id
        -- guard: completed-once
        AND r.status IN ('reserved', 'pending')
    RETURNING r.* INTO claim;
    outcome := CASE WHEN FOUND THEN 'completed' END;

    IF outcome IS NULL THEN
        SELECT r.* INTO claim FROM counterfoil.redemption AS r
        WHERE r.counts_with = complete.counts_with AND r.id = complete.id;
        IF claim.status IS DISTINCT FROM 'released' THEN
            outcome := 'already_settled';
            RETURN NEXT; RETURN;
        END IF;
        PERFORM counterfoil.allocation_lock(complete.counts_with, claim.period, lock_timeout);
        moment := counterfoil.clock();
        UPDATE counterfoil.redemption AS r SET status = 'completed', completed_at = moment
        WHERE r.counts_with = complete.counts_with AND r.id = complete.id AND r.status = 'released'
        RETURNING r.* INTO claim;
        IF NOT FOUND THEN
            -- Somebody else honoured it while we waited.
            SELECT r.* INTO claim FROM counterfoil.redemption AS r
            WHERE r.counts_with = complete.counts_with AND r.id = complete.id;
            outcome := 'already_settled';
            RETURN NEXT; RETURN;
        END IF;
        UPDATE counterfoil.redemption AS r
        SET over_cap = counterfoil.honour(complete.counts_with, claim.period, complete.id)
        WHERE r.counts_with = complete.counts_with AND r.id = complete.id
        RETURNING r.* INTO claim;
        outcome := 'completed_late';
    END IF;

    -- The session that was paid becomes the row's session, if it is not already.
    IF claim.session_id IS DISTINCT FROM complete.session_id AND complete.session_expires_at < claim.expires_at THEN
        UPDATE counterfoil.redemption AS r
        SET former_sessions = array_remove(array_remove(r.former_sessions || r.session_id, complete.session_id), NULL),
            session_id = complete.session_id, session_expires_at = complete.session_expires_at
        WHERE r.counts_with = complete.counts_with AND r.id = complete.id
        RETURNING r.* INTO claim;
    END IF;
    PERFORM counterfoil.step(claim, outcome, claim.completed_at);
    PERFORM counterfoil.announce_redemption(claim);
    RETURN NEXT;
END
$$;
