-- Move free places from one allocation to another, in one step: the sum of the two caps stays what it was. Always one row;
-- outcome:
--   moved         it is done
--   not_free      only `free` places can be had there: `occupied` are in use
--   no_cap        `which` of the two, from or to, has no cap: there is nothing to count there
--   same          both are one allocation
--   too_many      the other one would have more than a cap may be
-- What was refused left everything as it was: no allocation was made either.
CREATE FUNCTION counterfoil.move_places(
    counts_with bigint,
    period text,
    to_counts_with bigint,
    to_period text,
    places bigint,
    note text,
    lock_timeout interval
)
RETURNS TABLE (outcome text, occupied bigint, free bigint, which text)
LANGUAGE plpgsql
AS $$
DECLARE
    source counterfoil.allocation;
    target counterfoil.allocation;
    moment timestamptz;
BEGIN
    PERFORM counterfoil.must_be_read_committed();
    IF (move_places.counts_with, move_places.period) = (to_counts_with, to_period) THEN
        outcome := 'same';
        RETURN NEXT; RETURN;
    END IF;
    BEGIN
        -- In the order of their keys, whichever way the places go: two who move against each other wait in one line.
        -- guard: both-are-locked-in-one-order
        IF (to_counts_with, to_period COLLATE "C") < (move_places.counts_with, move_places.period) THEN
            target := counterfoil.allocation_lock(to_counts_with, to_period, lock_timeout);
        END IF;
        source := counterfoil.allocation_lock(move_places.counts_with, move_places.period, lock_timeout);
        target := counterfoil.allocation_lock(to_counts_with, to_period, lock_timeout);
        moment := counterfoil.clock();
        SELECT r.used - r.lapsed INTO occupied
        FROM counterfoil.room(move_places.counts_with, move_places.period, moment) AS r;
        free := greatest(source.cap - occupied, 0);
        outcome := CASE
            -- guard: nothing-moves-without-a-cap
            WHEN source.cap IS NULL OR target.cap IS NULL THEN 'no_cap'
            -- guard: only-free-places-move
            WHEN places > free THEN 'not_free'
            WHEN target.cap + places > 1000000000 THEN 'too_many'
            ELSE 'moved'
        END;
        which := CASE WHEN outcome = 'no_cap' THEN CASE WHEN source.cap IS NULL THEN 'from' ELSE 'to' END END;
        IF outcome <> 'moved' THEN
            RAISE EXCEPTION 'it is refused' USING ERRCODE = 'CF001';
        END IF;
        PERFORM counterfoil.give_cap(source, source.cap - places, note, to_counts_with, to_period, -places, moment);
        PERFORM counterfoil.give_cap(
            target, target.cap + places, note, move_places.counts_with, move_places.period, places, moment
        );
    EXCEPTION WHEN SQLSTATE 'CF001' THEN
        NULL;
    END;
    RETURN NEXT;
END
$$;

-- Give a locked allocation another cap because places were moved: written down on both sides, each saying which is the
-- other.
CREATE FUNCTION counterfoil.give_cap(
    gate counterfoil.allocation,
    cap bigint,
    note text,
    other bigint,
    other_period text,
    moved bigint,
    moment timestamptz
)
RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    changed counterfoil.allocation;
BEGIN
    UPDATE counterfoil.allocation AS a
    SET cap = give_cap.cap,
        excess = greatest(a.used - give_cap.cap, 0),
        note = give_cap.note,
        updated_at = moment
    WHERE a.code_id = gate.code_id AND a.period = gate.period
    RETURNING a.* INTO changed;
    PERFORM counterfoil.announce_fullness(changed, gate.used, gate.cap);
    PERFORM counterfoil.keep_record(
        'cap.set', c.code || ' ' || gate.period,
        jsonb_build_object('cap', gate.cap, 'note', gate.note),
        jsonb_build_object(
            'cap', changed.cap, 'note', changed.note, 'moved', give_cap.moved,
            'with', o.code || ' ' || give_cap.other_period
        )
    )
    FROM counterfoil.code AS c, counterfoil.code AS o
    WHERE c.id = gate.code_id AND o.id = give_cap.other;
END
$$;
