-- Carry what Stripe says of a session into the rows it belongs to. Always one row; outcome:
--   completed, completed_late, pending, released, already_settled
--   nothing       the session is open still
--   superseded    the row had this session once and uses another by now: its end moves nothing
--   attention     money, or a promise of it, for something we do not know: put before the seller
--   foreign       nothing of ours
--
-- `verdict` is what the session means: paid, pending (complete and unpaid), expired, payment_failed, open.
-- The ids are those in the session's metadata; where they are missing, the session's own id finds the row.
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
    lock_timeout interval,
    event text
)
RETURNS TABLE (outcome text, claim counterfoil.redemption, sale counterfoil.checkout, stray_session text)
LANGUAGE plpgsql
AS $$
DECLARE
    done record;
    known boolean;
BEGIN
    PERFORM counterfoil.must_be_read_committed();
    PERFORM counterfoil.wait_at_most(lock_timeout);

    SELECT c.* INTO sale FROM counterfoil.checkout AS c
    WHERE c.counts_with = settle.counts_with AND c.id = settle.checkout;
    IF NOT FOUND THEN
        SELECT c.* INTO sale FROM counterfoil.checkout AS c WHERE c.session_id = settle.session_id;
    END IF;
    SELECT r.* INTO claim FROM counterfoil.redemption AS r
    WHERE r.counts_with = coalesce(sale.counts_with, settle.counts_with)
        AND r.id = coalesce(sale.redemption_id, settle.redemption);
    IF NOT FOUND THEN
        SELECT r.* INTO claim FROM counterfoil.redemption AS r
        WHERE r.session_id = settle.session_id
            OR (r.former_sessions @> ARRAY[settle.session_id] AND r.former_sessions <> '{}');
        IF FOUND AND sale.id IS NULL THEN
            SELECT c.* INTO sale FROM counterfoil.checkout AS c
            WHERE c.counts_with = claim.counts_with AND c.redemption_id = claim.id;
        END IF;
    END IF;

    -- A row is moved only through a session that it has or had, or that its own attempt made and a crash kept from
    -- being attached. A copy of a session (`recovered_from`) is none of these, whatever its metadata says.
    known := recovered_from IS NULL AND CASE
        WHEN claim.id IS NOT NULL THEN
            settle.session_id = claim.session_id
            OR settle.session_id = ANY (claim.former_sessions)
            OR (claim.session_id IS NULL AND claim.attempt = settle.attempt)
        WHEN sale.id IS NOT NULL THEN coalesce(sale.session_id, settle.session_id) = settle.session_id
    END;

    IF claim.id IS NULL AND sale.id IS NULL AND coalesce(settle.checkout, settle.redemption) IS NULL THEN
        outcome := 'foreign';
    -- guard: an-unknown-session-completes-nothing
    ELSIF known IS NOT TRUE THEN
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
            IF outcome NOT IN ('completed', 'completed_late', 'pending') OR stray_session = settle.session_id THEN
                stray_session := NULL;
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

    UPDATE counterfoil.stripe_event AS e SET settled_at = counterfoil.clock(), outcome = settle.outcome
    WHERE e.id = settle.event;
    RETURN NEXT;
END
$$;
