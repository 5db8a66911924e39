-- What a session's verdict does to its checkout, and to what the purchase unlocks. `outcome` is what happened to the
-- redemption, null where there is none; a checkout with a redemption follows it.
CREATE FUNCTION counterfoil.settle_checkout(
    of counterfoil.checkout,
    verdict text,
    redemption_outcome text,
    session_id text,
    amount bigint,
    currency text,
    payment_intent text
)
RETURNS TABLE (outcome text, sale counterfoil.checkout)
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz := counterfoil.clock();
    opened counterfoil.entitlement;
BEGIN
    IF verdict = 'paid' THEN
        UPDATE counterfoil.checkout AS c
        SET status = 'paid', paid_at = moment, session_id = settle_checkout.session_id,
            payment_intent = settle_checkout.payment_intent
        WHERE c.counts_with = of.counts_with AND c.id = of.id
            -- guard: paid-once
            AND c.status NOT IN ('paid', 'refunded')
        RETURNING c.* INTO sale;
        IF FOUND THEN
            PERFORM counterfoil.announce_checkout(sale);
            FOR opened IN
                INSERT INTO counterfoil.entitlement AS e (
                    counts_with, checkout_id, unlock, product_id, buyer, buyer_key, granted_at
                )
                SELECT sale.counts_with, sale.id, u.unlock, sale.product_id, sale.buyer, sale.buyer_key, moment
                FROM unnest(sale.unlocks) AS u (unlock)
                ON CONFLICT DO NOTHING
                RETURNING e.*
            LOOP
                PERFORM counterfoil.announce_entitlement(opened);
            END LOOP;
            outcome := coalesce(redemption_outcome, 'completed');
            IF (sale.amount, sale.currency) IS DISTINCT FROM (settle_checkout.amount, settle_checkout.currency) THEN
                PERFORM counterfoil.raise_attention('amount-differs', sale.id::text, jsonb_build_object(
                    'session', settle_checkout.session_id, 'asked', sale.amount, 'paid', settle_checkout.amount,
                    'currency', sale.currency, 'paid_currency', settle_checkout.currency
                ));
            END IF;
        ELSIF of.session_id <> settle_checkout.session_id THEN
            PERFORM counterfoil.raise_attention('paid-twice', settle_checkout.session_id, jsonb_build_object(
                'checkout', of.id, 'first_session', of.session_id, 'payment_intent', settle_checkout.payment_intent
            ));
        END IF;
    ELSIF redemption_outcome IS NULL OR redemption_outcome = 'pending' THEN
        UPDATE counterfoil.checkout AS c
        SET status = CASE
                WHEN verdict = 'pending' THEN 'pending'
                WHEN verdict = 'expired' AND c.ending IS NOT NULL THEN 'cancelled'
                WHEN verdict = 'expired' THEN 'expired'
                ELSE 'failed'
            END,
            session_id = CASE verdict WHEN 'pending' THEN settle_checkout.session_id ELSE c.session_id END
        WHERE c.counts_with = of.counts_with AND c.id = of.id
            -- guard: an-ended-checkout-stays-ended
            AND (c.status = 'open' OR (c.status = 'pending' AND verdict <> 'pending'))
        RETURNING c.* INTO sale;
        IF FOUND THEN
            PERFORM counterfoil.announce_checkout(sale);
            outcome := CASE verdict WHEN 'pending' THEN 'pending' ELSE 'released' END;
        END IF;
    END IF;
    IF outcome IS NULL THEN
        outcome := coalesce(redemption_outcome, 'already_settled');
        SELECT c.* INTO sale FROM counterfoil.checkout AS c WHERE c.counts_with = of.counts_with AND c.id = of.id;
    END IF;
    RETURN NEXT;
END
$$;
