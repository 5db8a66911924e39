-- Give a place back, for a reason. Always one row; outcome:
--   released          the place is free
--   already_settled   nothing was changed: it was released before, or it is paid, and a sale cannot be un-sold
--   not_this_session  the row is using another session by now than the one that ended
--   not_found
--
-- `session_id` is given when a session's end is the reason: only the end of the row's own session releases it.
-- `attempt` is given when no session was attached: only the attempt that is still without one gives up its place.
CREATE FUNCTION counterfoil.release(
    counts_with bigint,
    id uuid,
    reason text,
    session_id text,
    attempt integer,
    lock_timeout interval
)
RETURNS TABLE (outcome text, claim counterfoil.redemption)
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz;
BEGIN
    PERFORM counterfoil.must_be_read_committed();
    SELECT r.* INTO claim FROM counterfoil.redemption AS r
    WHERE r.counts_with = release.counts_with AND r.id = release.id;
    IF NOT FOUND THEN
        outcome := 'not_found';
        RETURN NEXT; RETURN;
    END IF;
    IF claim.status IN ('reserved', 'pending') THEN
        PERFORM counterfoil.allocation_lock(release.counts_with, claim.period, lock_timeout);
        SELECT r.* INTO claim FROM counterfoil.redemption AS r
        WHERE r.counts_with = release.counts_with AND r.id = release.id FOR UPDATE;
        moment := counterfoil.clock();
    END IF;
    outcome := CASE
        WHEN claim.status NOT IN ('reserved', 'pending') THEN 'already_settled'
        -- By hand: the caller has ended whatever session it has.
        WHEN release.session_id IS NULL AND release.attempt IS NULL THEN 'released'
        WHEN release.session_id = claim.session_id THEN 'released'
        -- guard: what-has-a-session-is-released-by-it-alone
        WHEN claim.session_id IS NOT NULL THEN 'not_this_session'
        -- guard: only-its-own-attempt-failed
        WHEN release.attempt IS DISTINCT FROM claim.attempt THEN 'not_this_session'
        ELSE 'released'
    END;
    IF outcome = 'released' THEN
        -- One that has a checkout was told of when its end was asked for: see mark_ending.
        IF reason = 'by_hand' AND claim.ending IS DISTINCT FROM reason THEN
            PERFORM counterfoil.keep_record(
                'redemption.release', claim.id::text,
                jsonb_build_object('status', claim.status), jsonb_build_object('status', 'released')
            );
        END IF;
        PERFORM counterfoil.occupy(
            release.counts_with, claim.period,
            -counterfoil.end_redemption(
                release.counts_with, ARRAY[release.id],
                CASE reason WHEN 'session_expired' THEN coalesce(claim.ending, reason) ELSE reason END,
                moment
            )
        );
        SELECT r.* INTO claim FROM counterfoil.redemption AS r
        WHERE r.counts_with = release.counts_with AND r.id = release.id;
    END IF;
    RETURN NEXT;
END
$$;
