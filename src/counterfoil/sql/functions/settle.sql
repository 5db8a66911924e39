-- Carry what Stripe says of a session into the rows it belongs to. Always one row; outcome:
--   completed, completed_late, pending, released, already_settled
--   nothing       the session is open still
--   superseded    the row had this session once and uses another by now: its end moves nothing
--   attention     money, or a promise of it, for something we do not know: put before the seller
--   foreign       nothing of ours
-- `stray_session` is another session of a row that is paid or paying, to be ended: it may be open still.
--
-- `verdict` is what the session means: paid, pending (complete and unpaid), expired, payment_failed, open.
-- The ids are those in the session's metadata: `rows_of_session.sql` finds the rows by them.
CREATE FUNCTION counterfoil.settle(
    session_id text,
    verdict text,
    counts_with bigint,
    redemption uuid,
    checkout uuid,
    attempt integer,
    session_expires_at timestamptz,
    amount bigint,
    currency text,
    payment_intent text,
    recovered_from text,
    pending_for interval,
    lock_timeout interval
)
RETURNS TABLE (outcome text, claim counterfoil.redemption, sale counterfoil.checkout, stray_session text)
LANGUAGE plpgsql
AS $$
DECLARE
    ours record;
    done record;
    others text[];
BEGIN
    PERFORM counterfoil.must_be_read_committed();
    PERFORM counterfoil.wait_at_most(lock_timeout);

    SELECT * INTO ours FROM counterfoil.rows_of_session(
        settle.session_id, settle.counts_with, settle.redemption, settle.checkout, settle.attempt, settle.recovered_from
    );
    claim := ours.claim;
    sale := ours.sale;

    IF claim.id IS NULL AND sale.id IS NULL AND coalesce(settle.checkout, settle.redemption) IS NULL THEN
        outcome := 'foreign';
    -- guard: an-unknown-session-completes-nothing
    ELSIF NOT ours.known THEN
        outcome := CASE WHEN verdict IN ('paid', 'pending') THEN 'attention' ELSE 'superseded' END;
        IF outcome = 'attention' THEN
            PERFORM counterfoil.raise_attention('unmatched-session', settle.session_id, jsonb_build_object(
                'verdict', verdict, 'amount', amount, 'currency', currency, 'payment_intent', payment_intent,
                'checkout', settle.checkout, 'redemption', settle.redemption, 'recovered_from', recovered_from
            ));
        END IF;
    ELSIF verdict = 'open' THEN
        outcome := 'nothing';
    ELSE
        IF claim.id IS NOT NULL THEN
            stray_session := claim.session_id;
            SELECT * INTO done FROM counterfoil.settle_redemption(
                claim, verdict, settle.session_id, settle.attempt, settle.session_expires_at, pending_for, lock_timeout
            );
            outcome := done.outcome;
            claim := done.claim;
            IF verdict NOT IN ('paid', 'pending') OR outcome = 'superseded' OR stray_session = settle.session_id THEN
                stray_session := NULL;
            END IF;
            IF verdict IN ('paid', 'pending') AND outcome = 'already_settled' THEN
                -- Whoever settled it may have broken off before the other session was ended.
                others := array_remove(claim.former_sessions || claim.session_id, settle.session_id);
                stray_session := others[cardinality(others)];
            END IF;
        END IF;
        IF sale.id IS NOT NULL AND outcome IS DISTINCT FROM 'superseded' THEN
            SELECT * INTO done FROM counterfoil.settle_checkout(
                sale, verdict, outcome, settle.session_id, amount, currency, payment_intent
            );
            outcome := done.outcome;
            sale := done.sale;
        END IF;
    END IF;

    RETURN NEXT;
END
$$;
