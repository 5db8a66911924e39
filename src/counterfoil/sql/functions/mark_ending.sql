-- Write down why a session is about to be ended, so that whoever hears of its end first gives this reason.
CREATE FUNCTION counterfoil.mark_ending(
    counts_with bigint,
    redemption uuid,
    checkout uuid,
    reason text,
    lock_timeout interval
)
RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM counterfoil.wait_at_most(lock_timeout);
    -- What a person wants done is theirs from here on, also if the webhook is the one to do it.
    IF reason = 'by_hand' THEN
        PERFORM counterfoil.keep_record(
            'redemption.release', r.id::text, jsonb_build_object('status', r.status), jsonb_build_object('ending', reason)
        )
        FROM counterfoil.redemption AS r
        WHERE r.counts_with = mark_ending.counts_with AND r.id = mark_ending.redemption AND r.status = 'reserved'
            AND r.ending IS DISTINCT FROM reason;
    END IF;
    UPDATE counterfoil.redemption AS r SET ending = reason
    WHERE r.counts_with = mark_ending.counts_with AND r.id = mark_ending.redemption AND r.status = 'reserved';
    UPDATE counterfoil.checkout AS c SET ending = reason
    WHERE c.counts_with = mark_ending.counts_with AND c.id = mark_ending.checkout AND c.status = 'open';
END
$$;
