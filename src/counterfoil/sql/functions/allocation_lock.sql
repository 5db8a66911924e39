-- The allocation of a code and period, locked, and made with the code's cap if nobody needed it before.
--
-- Whoever changes which rows of an allocation occupy a place holds this lock, and takes it before the lock of any
-- redemption: one order for all, so that none waits for the other in a circle.
CREATE FUNCTION counterfoil.allocation_lock(counts_with bigint, period text, lock_timeout interval)
RETURNS counterfoil.allocation
LANGUAGE plpgsql
AS $$
DECLARE
    locked counterfoil.allocation;
BEGIN
    PERFORM counterfoil.wait_at_most(lock_timeout);
    LOOP
        SELECT * INTO locked FROM counterfoil.allocation AS a
        WHERE a.code_id = allocation_lock.counts_with AND a.period = allocation_lock.period
        FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO counterfoil.allocation (code_id, period, cap)
        SELECT c.id, allocation_lock.period, c.cap FROM counterfoil.code AS c WHERE c.id = allocation_lock.counts_with
        ON CONFLICT DO NOTHING;
        -- Nothing was made, and nobody else is making it: there is no such code.
        IF NOT FOUND AND NOT EXISTS (
            SELECT FROM counterfoil.code AS c WHERE c.id = allocation_lock.counts_with
        ) THEN
            RAISE EXCEPTION 'there is no code % to have an allocation', counts_with USING ERRCODE = 'no_data_found';
        END IF;
    END LOOP;
    RETURN locked;
END
$$;
