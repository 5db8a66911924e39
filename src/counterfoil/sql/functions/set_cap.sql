-- Set the cap of one period. Always one row; outcome:
--   set           the allocation is as asked
--   below_used    more places are in use (`occupied`) than the cap would allow, and it was not confirmed
--   moved         the cap is no longer what whoever asks saw (`was`, if it `is_seen`), but `stands`
--
-- *confirmed*: however many are in use. *known*: if no more are in use than that.
-- The note is this change's own: without one there is none.
CREATE FUNCTION counterfoil.set_cap(
    counts_with bigint,
    period text,
    cap bigint,
    note text,
    confirmed boolean,
    lock_timeout interval,
    known bigint DEFAULT NULL,
    is_seen boolean DEFAULT false,
    was bigint DEFAULT NULL
)
RETURNS TABLE (outcome text, occupied bigint, stands bigint)
LANGUAGE plpgsql
AS $$
DECLARE
    gate counterfoil.allocation;
    changed counterfoil.allocation;
    moment timestamptz;
BEGIN
    PERFORM counterfoil.must_be_read_committed();
    BEGIN
        gate := counterfoil.allocation_lock(set_cap.counts_with, set_cap.period, lock_timeout);
        -- guard: nobodys-cap-is-overwritten-unseen
        IF is_seen AND gate.cap IS DISTINCT FROM was THEN
            RAISE EXCEPTION 'the cap is another one by now' USING ERRCODE = 'CF001';
        END IF;
    EXCEPTION WHEN SQLSTATE 'CF001' THEN
        -- An allocation that was made for this alone is not there afterwards: it would fix the cap of its period.
        outcome := 'moved';
        stands := gate.cap;
        RETURN NEXT;
        RETURN;
    END;
    moment := counterfoil.clock();
    SELECT r.used - r.lapsed INTO occupied FROM counterfoil.room(set_cap.counts_with, set_cap.period, moment) AS r;
    -- guard: lowered-on-confirmation-only
    IF set_cap.cap < occupied AND NOT confirmed AND occupied > coalesce(known, -1) THEN
        outcome := 'below_used';
    ELSE
        UPDATE counterfoil.allocation AS a
        SET cap = set_cap.cap,
            excess = greatest(coalesce(a.used - set_cap.cap, 0), 0),
            note = set_cap.note,
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
