-- Raise what nobody runs into, and settle what is over by itself:
--   events that Stripe sent and that were not settled within the hour: one matter for all, over when there are none
--   delayed payments that were overdue: over when they came or failed
--   an institution asked for more places: over when the cap is higher than it was then
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
    UPDATE counterfoil.attention AS a SET resolved_at = counterfoil.clock()
    FROM counterfoil.places_request AS r
    JOIN counterfoil.institution AS i ON i.id = r.institution_id
    JOIN counterfoil.code AS c ON c.id = r.code_id
    JOIN counterfoil.allocation AS gate ON gate.code_id = r.counts_with AND gate.period = r.period
    WHERE a.kind = 'more-places-wanted' AND a.resolved_at IS NULL
        AND a.subject = i.slug || '/' || c.code || '/' || r.period
        AND (a.detail ->> 'cap')::bigint = r.cap AND (gate.cap IS NULL OR gate.cap > r.cap);
END
$$;
