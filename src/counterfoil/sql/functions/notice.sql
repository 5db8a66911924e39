-- Raise what nobody runs into, and settle what is over by itself:
--   events that Stripe sent and that were not settled within the hour: one matter for all, over when there are none
--   delayed payments that were overdue: over when they came or failed
CREATE FUNCTION counterfoil.notice() RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    waiting record;
BEGIN
    SELECT count(*) AS number, min(e.received_at) AS oldest, array_agg(DISTINCT e.type) AS types INTO waiting
    FROM counterfoil.stripe_event AS e
    WHERE e.settled_at IS NULL AND e.received_at < (SELECT counterfoil.clock()) - interval '1 hour';
    IF waiting.number > 0 THEN
        PERFORM counterfoil.raise_attention('stripe-events-unsettled', 'stripe', jsonb_build_object(
            'number', waiting.number, 'types', waiting.types,
            'oldest', to_char(waiting.oldest AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')
        ));
    ELSE
        UPDATE counterfoil.attention AS a SET resolved_at = counterfoil.clock()
        WHERE a.kind = 'stripe-events-unsettled' AND a.subject = 'stripe' AND a.resolved_at IS NULL;
    END IF;
    UPDATE counterfoil.attention AS a SET resolved_at = counterfoil.clock()
    WHERE a.kind = 'payment-overdue' AND a.resolved_at IS NULL
        AND NOT EXISTS (SELECT FROM counterfoil.redemption AS r WHERE r.id = a.subject::uuid AND r.status = 'pending');
END
$$;
