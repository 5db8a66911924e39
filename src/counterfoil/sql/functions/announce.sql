-- Write down an event, and who is to hear of it: in the transaction that made it true, so that none is lost, and none
-- tells of what was rolled back. The caller holds the lock of the row that it is about.
CREATE FUNCTION counterfoil.announce(type text, subject text, data jsonb) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz := counterfoil.clock();
    written bigint;
BEGIN
    INSERT INTO counterfoil.event AS e (id, type, subject, data, created_at)
    VALUES (
        'evt_' || replace(gen_random_uuid()::text, '-', ''), announce.type, announce.subject, announce.data, moment
    )
    RETURNING e.seq INTO written;
    INSERT INTO counterfoil.delivery (seq, endpoint_id, subject, next_attempt_at)
    SELECT written, w.id, announce.subject, moment
    FROM counterfoil.webhook_endpoint AS w
    WHERE w.disabled_at IS NULL AND (w.types IS NULL OR announce.type = ANY (w.types));
END
$$;

-- A redemption came into the status that it has.
CREATE FUNCTION counterfoil.announce_redemption(of counterfoil.redemption) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    document jsonb := counterfoil.redemption_document(of);
BEGIN
    PERFORM counterfoil.announce('redemption.' || of.status, of.id::text, document);
    IF of.status = 'completed' AND of.over_cap THEN
        PERFORM counterfoil.announce('redemption.over_cap', of.id::text, document);
    END IF;
END
$$;

-- A checkout came into the status that it has. Of one that is pending or was cancelled, its redemption tells.
CREATE FUNCTION counterfoil.announce_checkout(of counterfoil.checkout) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    IF of.status IN ('paid', 'expired', 'failed', 'refunded') THEN
        PERFORM counterfoil.announce(
            'checkout.' || of.status, coalesce(of.redemption_id, of.id)::text, counterfoil.checkout_document(of)
        );
    END IF;
END
$$;

-- An entitlement was granted, or revoked: in the order of its checkout's events.
CREATE FUNCTION counterfoil.announce_entitlement(of counterfoil.entitlement) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM counterfoil.announce(
        CASE WHEN of.revoked_at IS NULL THEN 'entitlement.granted' ELSE 'entitlement.revoked' END,
        coalesce(c.redemption_id, c.id)::text,
        to_jsonb(of)
    )
    FROM counterfoil.checkout AS c
    WHERE c.counts_with = of.counts_with AND c.id = of.checkout_id;
END
$$;
