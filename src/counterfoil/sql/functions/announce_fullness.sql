-- An allocation filled up: to four fifths of its cap, and to all of it. Told each time that it comes from below. `used`
-- and `cap` are what they were before; the allocation's lock is held by the caller.
CREATE FUNCTION counterfoil.announce_fullness(gate counterfoil.allocation, used bigint, cap bigint) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    IF gate.cap > 0 AND gate.used * 5 >= gate.cap * 4 AND (used * 5 >= cap * 4) IS NOT TRUE THEN
        PERFORM counterfoil.announce(
            'allocation.threshold', gate.code_id || '/' || gate.period, counterfoil.usage_document(gate)
        );
    END IF;
    IF gate.cap > 0 AND gate.used >= gate.cap AND (used >= cap) IS NOT TRUE THEN
        PERFORM counterfoil.announce(
            'allocation.full', gate.code_id || '/' || gate.period, counterfoil.usage_document(gate)
        );
    END IF;
    PERFORM counterfoil.notice_fullness(gate, used, cap);
END
$$;

-- How full a locked allocation is, in the shape that usage.sql answers in.
CREATE FUNCTION counterfoil.usage_document(gate counterfoil.allocation) RETURNS jsonb
LANGUAGE sql VOLATILE
AS $$
    SELECT jsonb_build_object(
        'code', counterfoil.in_force(c), 'period', gate.period, 'cap', gate.cap, 'note', gate.note, 'held', room.held,
        'next_release_at', room.next_release_at, 'pending', waiting.places,
        'completed', gate.used - waiting.places - room.held - room.lapsed,
        'starts_on', gate.starts_on, 'ends_on', gate.ends_on
    )
    FROM counterfoil.code AS c
    CROSS JOIN LATERAL counterfoil.room(gate.code_id, gate.period, (SELECT counterfoil.clock())) AS room
    CROSS JOIN LATERAL (
        SELECT count(*) AS places FROM counterfoil.redemption AS r
        WHERE r.counts_with = gate.code_id AND r.period = gate.period AND r.status = 'pending'
    ) AS waiting
    WHERE c.id = gate.code_id
$$;
