-- Take a place for money that arrived when none was held for it, over the cap if need be. Answers whether the cap was
-- passed for it, which is put before the seller. The allocation's lock is held by the caller.
CREATE FUNCTION counterfoil.honour(counts_with bigint, period text, redemption uuid) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    gate counterfoil.allocation;
BEGIN
    UPDATE counterfoil.allocation AS a
    SET used = a.used + 1, excess = greatest(a.excess, coalesce(a.used + 1 - a.cap, 0))
    WHERE a.code_id = honour.counts_with AND a.period = honour.period
    RETURNING a.* INTO gate;
    PERFORM counterfoil.announce_fullness(gate, gate.used - 1, gate.cap);
    IF gate.used > gate.cap THEN
        PERFORM counterfoil.raise_attention('over-cap', redemption::text, jsonb_build_object(
            'counts_with', honour.counts_with, 'period', honour.period, 'cap', gate.cap, 'used', gate.used
        ));
        RETURN true;
    END IF;
    RETURN false;
END
$$;
