-- What one claimant (a buyer, or a mailbox where the code counts by it) has of an allocation: the open claim, how many places are spent or being paid for, and the last of those.
CREATE FUNCTION counterfoil.claims_of(
    counts_with bigint,
    period text,
    claimant text,
    OUT open counterfoil.redemption,
    OUT spent bigint,
    OUT last_spent counterfoil.redemption
)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    claim counterfoil.redemption;
BEGIN
    spent := 0;
    FOR claim IN
        SELECT * FROM counterfoil.redemption AS r
        WHERE r.counts_with = claims_of.counts_with
            AND r.period = claims_of.period
            AND coalesce(r.mailbox_key, r.buyer_key) = claims_of.claimant
            AND r.status IN ('reserved', 'pending', 'completed')
        ORDER BY r.reserved_at
    LOOP
        IF claim.status = 'reserved' THEN
            open := claim;
        ELSE
            spent := spent + 1;
            last_spent := claim;
        END IF;
    END LOOP;
END
$$;
