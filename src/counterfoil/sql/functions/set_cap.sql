-- Set the cap of one period. Always one row; outcome:
--   set           the allocation is as asked
--   below_used    more places are in use (`occupied`) than the cap would allow, and it was not confirmed
CREATE FUNCTION counterfoil.set_cap(
    counts_with bigint,
    period text,
    cap bigint,
    note text,
    confirmed boolean,
    lock_timeout interval
)
RETURNS TABLE (outcome text, occupied bigint)
LANGUAGE plpgsql
AS $$
DECLARE
    gate counterfoil.allocation;
    changed counterfoil.allocation;
    moment timestamptz;
BEGIN
    PERFORM counterfoil.must_be_read_committed();
    gate := counterfoil.allocation_lock(set_cap.counts_with, set_cap.period, lock_timeout);
    moment := counterfoil.clock();
    SELECT r.used - r.lapsed INTO occupied FROM counterfoil.room(set_cap.counts_with, set_cap.period, moment) AS r;
    -- guard: lowered-on-confirmation-only
    IF set_cap.cap < occupied AND NOT confirmed THEN
        outcome := 'below_used';
    ELSE
        UPDATE counterfoil.allocation AS a
        SET cap = set_cap.cap,
            excess = greatest(coalesce(a.used - set_cap.cap, 0), 0),
            note = coalesce(set_cap.note, a.note),
            updated_at = moment
        WHERE a.code_id = set_cap.counts_with AND a.period = set_cap.period
        RETURNING a.* INTO changed;
        PERFORM counterfoil.announce_fullness(changed, gate.used, gate.cap);
        IF (changed.cap, changed.note) IS DISTINCT FROM (gate.cap, gate.note) THEN
            PERFORM counterfoil.keep_record(
                'cap.set', c.code || ' ' || set_cap.period,
                jsonb_build_object('cap', gate.cap, 'note', gate.note),
                jsonb_build_object('cap', changed.cap, 'note', changed.note)
            )
            FROM counterfoil.code AS c WHERE c.id = set_cap.counts_with;
        END IF;
        outcome := 'set';
    END IF;
    RETURN NEXT;
END
$$;
