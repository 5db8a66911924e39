-- The money of a paid session went back in full, or came back because a refund failed: carry it into the rows.
-- Always one row; outcome:
--   refunded          it went back: what the purchase unlocks is revoked, and the place is returned if the code says so
--   reinstated        it came back: the sale stands again
--   already_settled   the rows say so already, or the session is not the one that the sale was paid in
--
-- The code's refund policy is asked once, when the refund is first found: changing it later moves no old place.
CREATE FUNCTION counterfoil.settle_refund(
    counts_with bigint,
    redemption uuid,
    checkout uuid,
    session_id text,
    money_back boolean,
    disputed boolean,
    lock_timeout interval
)
RETURNS TABLE (outcome text, claim counterfoil.redemption, sale counterfoil.checkout)
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz;
    returned boolean := false;
    opened counterfoil.entitlement;
BEGIN
    PERFORM counterfoil.must_be_read_committed();
    PERFORM counterfoil.wait_at_most(lock_timeout);
    outcome := 'already_settled';

    SELECT r.* INTO claim FROM counterfoil.redemption AS r
    WHERE r.counts_with = settle_refund.counts_with AND r.id = settle_refund.redemption;
    IF claim.id IS NOT NULL THEN
        PERFORM counterfoil.allocation_lock(settle_refund.counts_with, claim.period, lock_timeout);
    END IF;
    moment := counterfoil.clock();
    SELECT r.* INTO claim FROM counterfoil.redemption AS r
    WHERE r.counts_with = settle_refund.counts_with AND r.id = settle_refund.redemption;
    SELECT c.* INTO sale FROM counterfoil.checkout AS c
    WHERE c.counts_with = settle_refund.counts_with AND c.id = settle_refund.checkout;

    -- guard: only-the-payment-that-counts
    IF coalesce(sale.session_id, claim.session_id) IS DISTINCT FROM settle_refund.session_id THEN
        RETURN NEXT; RETURN;
    END IF;

    IF money_back THEN
        SELECT p.refund_policy = 'return' OR (p.refund_policy = 'return_unless_disputed' AND NOT disputed)
        INTO returned FROM counterfoil.code AS p WHERE p.id = claim.code_id;
        UPDATE counterfoil.redemption AS r
        SET refunded_at = moment, status = CASE WHEN returned THEN 'refunded' ELSE r.status END
        WHERE r.counts_with = settle_refund.counts_with AND r.id = settle_refund.redemption
            -- guard: refunded-once
            AND r.status = 'completed' AND r.refunded_at IS NULL
        RETURNING r.* INTO claim;
        IF FOUND THEN
            outcome := 'refunded';
            IF returned THEN
                PERFORM counterfoil.step(claim, 'refunded', moment);
                PERFORM counterfoil.announce_redemption(claim);
            END IF;
            PERFORM counterfoil.occupy(settle_refund.counts_with, claim.period, -returned::integer);
        END IF;
        IF counterfoil.revoke(settle_refund.counts_with, settle_refund.checkout, moment) THEN
            outcome := 'refunded';
        END IF;
    ELSE
        IF counterfoil.reinstate(settle_refund.counts_with, settle_refund.redemption) THEN
            outcome := 'reinstated';
        END IF;
        UPDATE counterfoil.checkout AS c SET status = 'paid'
        WHERE c.counts_with = settle_refund.counts_with AND c.id = settle_refund.checkout AND c.status = 'refunded'
        RETURNING c.* INTO sale;
        IF FOUND THEN
            outcome := 'reinstated';
            PERFORM counterfoil.announce_checkout(sale);
            FOR opened IN
                UPDATE counterfoil.entitlement AS e SET revoked_at = NULL
                WHERE e.counts_with = settle_refund.counts_with AND e.checkout_id = settle_refund.checkout
                RETURNING e.*
            LOOP
                PERFORM counterfoil.announce_entitlement(opened);
            END LOOP;
        END IF;
    END IF;

    SELECT r.* INTO claim FROM counterfoil.redemption AS r
    WHERE r.counts_with = settle_refund.counts_with AND r.id = settle_refund.redemption;
    SELECT c.* INTO sale FROM counterfoil.checkout AS c
    WHERE c.counts_with = settle_refund.counts_with AND c.id = settle_refund.checkout;
    RETURN NEXT;
END
$$;
