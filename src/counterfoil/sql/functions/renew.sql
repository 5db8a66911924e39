-- Renew a hold in its own place for one more attempt: a new expiry, and no session yet. Always one row; outcome:
--   renewed    `claim` is the row as it is now
--   worn_out   it was renewed as often as a place may be: it ends when its time is over
--   moved_on   the row is no longer what the caller saw (`claim`): settled, released, or renewed by somebody else, or it
--              has another session than `session_id`, which the caller did not see and would not end
--
-- The session of the attempt before goes among the former ones *before* it is ended at Stripe: so the event of its end
-- gives nothing back, and if it turns out paid it still finds its row. The next session is made only when it has ended:
-- two payable sessions for one place is what must never be.
CREATE FUNCTION counterfoil.renew(
    counts_with bigint,
    id uuid,
    attempt integer,
    session_id text,
    hold interval,
    most integer,
    lock_timeout interval
)
RETURNS TABLE (outcome text, claim counterfoil.redemption)
LANGUAGE plpgsql
AS $$
DECLARE
    gate counterfoil.allocation;
    moment timestamptz;
BEGIN
    PERFORM counterfoil.must_be_read_committed();
    SELECT r.* INTO claim FROM counterfoil.redemption AS r WHERE r.counts_with = renew.counts_with AND r.id = renew.id;
    IF NOT FOUND THEN
        outcome := 'moved_on';
        RETURN NEXT; RETURN;
    END IF;
    gate := counterfoil.allocation_lock(renew.counts_with, claim.period, lock_timeout);
    moment := counterfoil.clock();
    SELECT r.* INTO claim FROM counterfoil.redemption AS r
    WHERE r.counts_with = renew.counts_with AND r.id = renew.id FOR UPDATE;

    -- guard: renewed-as-it-was-seen
    IF (claim.status, claim.attempt, claim.session_id) IS DISTINCT FROM ('reserved', renew.attempt, renew.session_id) THEN
        outcome := 'moved_on';
    ELSIF claim.attempt > most OR (claim.expires_at <= moment AND gate.used > gate.cap) THEN
        -- A lapsed hold does not come back to life over a cap that was lowered meanwhile.
        outcome := 'worn_out';
    ELSE
        PERFORM counterfoil.step(claim, 'renewed', moment);
        UPDATE counterfoil.redemption AS r
        SET attempt = r.attempt + 1,
            expires_at = moment + hold,
            former_sessions = array_remove(r.former_sessions || r.session_id, NULL),
            session_id = NULL, session_url = NULL, session_expires_at = NULL, attached_at = NULL,
            ending = NULL
        WHERE r.counts_with = renew.counts_with AND r.id = renew.id
        RETURNING r.* INTO claim;
        UPDATE counterfoil.checkout AS c
        SET session_id = NULL, session_url = NULL, session_expires_at = NULL, ending = NULL
        WHERE c.counts_with = renew.counts_with AND c.redemption_id = renew.id;
        outcome := 'renewed';
    END IF;
    RETURN NEXT;
END
$$;
