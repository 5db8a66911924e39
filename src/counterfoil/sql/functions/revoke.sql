-- A paid checkout whose money went back, or whose place was given back: what it unlocked is revoked. Answers whether it
-- was paid until now.
CREATE FUNCTION counterfoil.revoke(counts_with bigint, checkout uuid, moment timestamptz) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    sale counterfoil.checkout;
    opened counterfoil.entitlement;
BEGIN
    UPDATE counterfoil.checkout AS c SET status = 'refunded'
    WHERE c.counts_with = revoke.counts_with AND c.id = revoke.checkout AND c.status = 'paid'
    RETURNING c.* INTO sale;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM counterfoil.announce_checkout(sale);
    FOR opened IN
        UPDATE counterfoil.entitlement AS e SET revoked_at = moment
        WHERE e.counts_with = revoke.counts_with AND e.checkout_id = revoke.checkout AND e.revoked_at IS NULL
        RETURNING e.*
    LOOP
        PERFORM counterfoil.announce_entitlement(opened);
    END LOOP;
    RETURN true;
END
$$;
