-- Write down that a redemption began or ceased to occupy a place, or came to occupy it as something else. `of` is the row
-- as it is now; of a renewal, as it was. The lock of the row is held, and `moment` was read under it.
--
-- `hold_ends` is when the hold that it leaves was to end, where the row says so no longer.
CREATE FUNCTION counterfoil.step(
    of counterfoil.redemption,
    kind text,
    moment timestamptz,
    hold_ends timestamptz DEFAULT NULL
)
RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO counterfoil.step (
        counts_with, redemption, period, at, kind, reserved, pending, completed, lapsed_at, over_cap,
        session_id, attached_at
    )
    SELECT
        of.counts_with, of.id, of.period, moment, step.kind,
        (of.status = 'reserved')::integer - (place.was = 'reserved')::integer,
        (of.status = 'pending')::integer - (place.was = 'pending')::integer,
        (of.status = 'completed')::integer - (place.was = 'completed')::integer,
        CASE WHEN place.was = 'reserved' AND coalesce(hold_ends, of.expires_at) <= moment
            THEN coalesce(hold_ends, of.expires_at) END,
        of.over_cap AND step.kind IN ('completed_late', 'reinstated'),
        CASE WHEN step.kind = 'renewed' THEN of.session_id END,
        CASE WHEN step.kind = 'renewed' THEN of.attached_at END
    FROM (
        SELECT CASE
            WHEN step.kind IN ('reserved', 'completed_late', 'reinstated') THEN 'nothing'
            WHEN step.kind IN ('pending', 'renewed') THEN 'reserved'
            WHEN step.kind = 'refunded' THEN 'completed'
            WHEN of.pending_at IS NOT NULL THEN 'pending'
            ELSE 'reserved'
        END AS was
    ) AS place
$$;
