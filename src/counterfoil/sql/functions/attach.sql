-- Tie the session that Stripe made to the hold and the checkout it was made for. Always one row; outcome:
--   attached   the buyer may have the URL
--   gone       the hold was released, settled or renewed meanwhile: the session must be ended, and no URL leaves
--
-- `skew` is Stripe's clock, as it stood when it made the session, less the database's now: what the call took is in it.
--
-- `redemption` is null for a checkout without a code, `checkout` is null where the shop keeps its own orders.
CREATE FUNCTION counterfoil.attach(
    counts_with bigint,
    redemption uuid,
    checkout uuid,
    attempt integer,
    session_id text,
    session_url text,
    session_created timestamptz,
    session_expires_at timestamptz,
    lock_timeout interval
)
RETURNS TABLE (outcome text, skew interval, claim counterfoil.redemption, sale counterfoil.checkout)
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM counterfoil.wait_at_most(lock_timeout);
    IF redemption IS NOT NULL THEN
        UPDATE counterfoil.redemption AS r
        SET session_id = attach.session_id, session_url = attach.session_url,
            session_expires_at = attach.session_expires_at,
            attached_at = CASE
                WHEN r.session_id IS NULL OR r.attached_at IS NULL THEN counterfoil.clock() ELSE r.attached_at
            END
        WHERE r.counts_with = attach.counts_with AND r.id = attach.redemption
            -- guard: only-a-hold-gets-a-session
            AND r.status = 'reserved'
            -- guard: only-the-attempt-that-made-it
            AND r.attempt = attach.attempt
            -- guard: one-session-at-a-time
            AND (r.session_id IS NULL OR r.session_id = attach.session_id)
        RETURNING r.* INTO claim;
        IF NOT FOUND THEN
            SELECT r.* INTO claim FROM counterfoil.redemption AS r
            WHERE r.counts_with = attach.counts_with AND r.id = attach.redemption;
            outcome := 'gone';
        END IF;
    END IF;
    IF outcome IS NULL AND checkout IS NOT NULL THEN
        UPDATE counterfoil.checkout AS c
        SET session_id = attach.session_id, session_url = attach.session_url,
            session_expires_at = attach.session_expires_at
        WHERE c.counts_with = attach.counts_with AND c.id = attach.checkout AND c.status = 'open'
            AND (c.session_id IS NULL OR c.session_id = attach.session_id)
        RETURNING c.* INTO sale;
        IF NOT FOUND THEN
            outcome := 'gone';
        END IF;
    END IF;
    outcome := coalesce(outcome, 'attached');
    skew := session_created - counterfoil.clock();
    RETURN NEXT;
END
$$;
