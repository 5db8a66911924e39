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
    made record;
BEGIN
    PERFORM counterfoil.wait_at_most(lock_timeout);
    LOOP
        SELECT * INTO locked FROM counterfoil.allocation AS a
        WHERE a.code_id = allocation_lock.counts_with AND a.period = allocation_lock.period
        FOR UPDATE;
        EXIT WHEN FOUND;
        -- A named period is neither removed nor moved while its allocation is being made.
        PERFORM FROM counterfoil.named_period AS p
        WHERE p.code_id = allocation_lock.counts_with AND p.name = allocation_lock.period
        -- guard: a-period-stays-while-it-is-needed
        FOR SHARE
        ;
        SELECT c.id, c.cap, days.starts_on, days.ends_on, days.period IS NOT NULL AS is_one INTO made
        FROM counterfoil.code AS c
        JOIN counterfoil.institution AS keeper ON keeper.id = c.institution_id
        LEFT JOIN LATERAL (
            SELECT d.*, allocation_lock.period AS period
            FROM counterfoil.period_days(c.id, c.calendar, keeper.year_start, allocation_lock.period) AS d
        ) AS days ON true
        WHERE c.id = allocation_lock.counts_with;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'there is no code % to have an allocation', counts_with USING ERRCODE = 'no_data_found';
        END IF;
        -- The calendar became another one, or the period was removed, since it was looked up: whoever asks again is told
        -- of the periods as they are.
        -- guard: an-allocation-is-of-a-period
        IF NOT made.is_one THEN
            RAISE EXCEPTION 'the code has no period % any more', period USING ERRCODE = 'lock_not_available';
        END IF;
        INSERT INTO counterfoil.allocation (code_id, period, cap, starts_on, ends_on)
        VALUES (made.id, allocation_lock.period, made.cap, made.starts_on, made.ends_on)
        ON CONFLICT DO NOTHING;
    END LOOP;
    RETURN locked;
END
$$;
