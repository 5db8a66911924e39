-- What a session's verdict does to its redemption. Outcome: completed, completed_late, pending, released,
-- superseded, already_settled.
CREATE FUNCTION counterfoil.settle_redemption(
    of counterfoil.redemption,
    verdict text,
    session_id text,
    attempt integer,
    session_expires_at timestamptz,
    pending_for interval,
    lock_timeout interval
)
RETURNS TABLE (outcome text, claim counterfoil.redemption)
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz;
    hold_ends timestamptz;
BEGIN
    IF verdict = 'paid' THEN
        RETURN QUERY SELECT * FROM counterfoil.complete(
            of.counts_with, of.id, settle_redemption.session_id, settle_redemption.session_expires_at,
            settle_redemption.lock_timeout
        );
    ELSIF verdict = 'pending' THEN
        -- Locked first: whoever is at it now may renew the hold, and then it ends later.
        SELECT r.expires_at INTO hold_ends FROM counterfoil.redemption AS r
        WHERE r.counts_with = of.counts_with AND r.id = of.id FOR UPDATE;
        moment := counterfoil.clock();
        -- The session that is being paid becomes the row's session, if it is a former one: it alone can fail it.
        UPDATE counterfoil.redemption AS r
        SET status = 'pending', pending_at = moment, expires_at = moment + pending_for, session_id = settle_redemption.session_id,
            session_expires_at = settle_redemption.session_expires_at, session_url = NULL,
            former_sessions = array_remove(array_remove(
                r.former_sessions || r.session_id, settle_redemption.session_id
            ), NULL)
        WHERE r.counts_with = of.counts_with AND r.id = of.id
            -- guard: only-a-hold-becomes-pending
            AND r.status = 'reserved'
        RETURNING r.* INTO claim;
        outcome := 'pending';
        IF FOUND THEN
            PERFORM counterfoil.step(claim, 'pending', moment, hold_ends);
            PERFORM counterfoil.announce_redemption(claim);
        ELSE
            outcome := 'already_settled';
            -- Past its deadline it was asked about, and is still under way: it keeps its place, and a person knows.
            UPDATE counterfoil.redemption AS r SET expires_at = moment + pending_for
            WHERE r.counts_with = of.counts_with AND r.id = of.id AND r.status = 'pending'
                AND r.expires_at <= moment
            RETURNING r.* INTO claim;
            IF FOUND THEN
                -- Each missed deadline is news.
                PERFORM counterfoil.raise_attention('payment-overdue', of.id::text, jsonb_build_object(
                    'session', settle_redemption.session_id,
                    'until', to_char(claim.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')
                ));
            END IF;
            SELECT r.* INTO claim FROM counterfoil.redemption AS r
            WHERE r.counts_with = of.counts_with AND r.id = of.id;
        END IF;
        RETURN NEXT;
    ELSE
        RETURN QUERY
        SELECT CASE given.outcome WHEN 'not_this_session' THEN 'superseded' ELSE given.outcome END, given.claim
        FROM counterfoil.release(
            of.counts_with, of.id, CASE verdict WHEN 'expired' THEN 'session_expired' ELSE 'payment_failed' END,
            settle_redemption.session_id, settle_redemption.attempt, settle_redemption.lock_timeout
        ) AS given;
    END IF;
END
$$;
