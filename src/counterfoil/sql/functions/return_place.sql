-- Give back, by hand, a place that was completed without a payment. Always one row; outcome:
--   returned          the place is free again
--   already_settled   it was returned or refunded before
--   not_completed     it holds no spent place: nothing was changed
--   paid              something was paid for it: a refund at Stripe is the way, and the code's policy decides
CREATE FUNCTION counterfoil.return_place(counts_with bigint, id uuid, lock_timeout interval)
RETURNS TABLE (outcome text, claim counterfoil.redemption)
LANGUAGE plpgsql
AS $$
DECLARE
    sale counterfoil.checkout;
    moment timestamptz;
BEGIN
    PERFORM counterfoil.must_be_read_committed();
    SELECT r.* INTO claim FROM counterfoil.redemption AS r
    WHERE r.counts_with = return_place.counts_with AND r.id = return_place.id;
    PERFORM counterfoil.allocation_lock(return_place.counts_with, claim.period, lock_timeout);
    moment := counterfoil.clock();
    SELECT r.* INTO claim FROM counterfoil.redemption AS r
    WHERE r.counts_with = return_place.counts_with AND r.id = return_place.id FOR UPDATE;
    SELECT c.* INTO sale FROM counterfoil.checkout AS c
    WHERE c.counts_with = return_place.counts_with AND c.redemption_id = return_place.id;
    outcome := CASE
        WHEN claim.status = 'refunded' THEN 'already_settled'
        -- guard: only-a-spent-place-is-returned
        WHEN claim.status <> 'completed' THEN 'not_completed'
        -- guard: what-was-paid-is-refunded-at-stripe
        WHEN sale.amount > 0 THEN 'paid'
        ELSE 'returned'
    END;
    IF outcome = 'returned' THEN
        UPDATE counterfoil.redemption AS r SET status = 'refunded', refunded_at = moment
        WHERE r.counts_with = return_place.counts_with AND r.id = return_place.id
        RETURNING r.* INTO claim;
        PERFORM counterfoil.step(claim, 'refunded', moment);
        PERFORM counterfoil.announce_redemption(claim);
        PERFORM counterfoil.keep_record(
            'redemption.return', claim.id::text,
            jsonb_build_object('status', 'completed'), jsonb_build_object('status', 'refunded')
        );
        PERFORM counterfoil.occupy(return_place.counts_with, claim.period, -1);
        PERFORM counterfoil.revoke(return_place.counts_with, sale.id, moment);
    END IF;
    RETURN NEXT;
END
$$;
