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
BEGIN
    IF verdict = 'paid' THEN
        RETURN QUERY SELECT * FROM counterfoil.complete(
            of.counts_with, of.id, settle_redemption.session_id, settle_redemption.session_expires_at,
            settle_redemption.lock_timeout
        );
    ELSIF verdict = 'pending' THEN
        UPDATE counterfoil.redemption AS r SET status = 'pending', expires_at = counterfoil.clock() + pending_for
        WHERE r.counts_with = of.counts_with AND r.id = of.id
            -- guard: only-a-hold-becomes-pending
            AND r.status = 'reserved'
        RETURNING r.* INTO claim;
        outcome := 'pending';
        IF FOUND THEN
            PERFORM counterfoil.announce_redemption(claim);
        ELSE
            outcome := 'already_settled';
            -- Past its deadline it was asked about, and is still under way: it keeps its place, and a person knows.
            UPDATE counterfoil.redemption AS r SET expires_at = counterfoil.clock() + pending_for
            WHERE r.counts_with = of.counts_with AND r.id = of.id AND r.status = 'pending'
                AND r.expires_at <= (SELECT counterfoil.clock());
            IF FOUND THEN
                PERFORM counterfoil.raise_attention(
                    'payment-overdue', of.id::text, jsonb_build_object('session', settle_redemption.session_id)
                );
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
