-- What a row does not keep of its own past: each moment at which it began, or ceased, to occupy a place, and as what.
-- Summed up over an allocation they are its occupancy at any moment, and now they are what its rows are.

ALTER TABLE counterfoil.redemption ADD COLUMN pending_at timestamptz;
-- Since when its session is its session.
ALTER TABLE counterfoil.redemption ADD COLUMN attached_at timestamptz;

-- Written in the transaction of the transition, under the lock of the row that it is about. It only grows, and says
-- nothing of who the buyer is.
CREATE TABLE counterfoil.step (
    counts_with bigint NOT NULL,
    redemption  uuid NOT NULL,
    seq         bigint GENERATED ALWAYS AS IDENTITY,
    period      text NOT NULL,
    at          timestamptz NOT NULL,
    kind        text NOT NULL CONSTRAINT a_step_is_known CHECK (kind IN (
        'reserved', 'renewed', 'pending', 'completed', 'completed_late', 'released', 'refunded', 'reinstated'
    )),
    -- By how much the places of each kind changed: -1, 0 or 1.
    -- squawk-ignore prefer-bigint-over-smallint
    reserved    smallint NOT NULL,
    -- squawk-ignore prefer-bigint-over-smallint
    pending     smallint NOT NULL,
    -- squawk-ignore prefer-bigint-over-smallint
    completed   smallint NOT NULL,
    -- It leaves a hold that had lapsed, at this moment. Of those that nobody has touched yet, the rows tell.
    lapsed_at   timestamptz,
    over_cap    boolean NOT NULL DEFAULT false,
    -- Of a renewal: the session that was let go of, and since when the hold had it.
    session_id  text,
    attached_at timestamptz,
    PRIMARY KEY (counts_with, redemption, seq)
);

-- An allocation's past, read from the index alone.
CREATE INDEX step_in_time ON counterfoil.step (counts_with, period, at) INCLUDE (reserved, pending, completed);
-- What is marked in its picture.
CREATE INDEX step_to_mark ON counterfoil.step (counts_with, period, at)
    WHERE lapsed_at IS NOT NULL OR kind IN ('completed_late', 'reinstated');

-- Of rows from before there were steps: what their columns and our events tell. Renewals, and money that came back, were
-- not written down; a payment that became pending before there were events is taken to have done so at once.
UPDATE counterfoil.redemption AS r SET pending_at = told.at
FROM (
    SELECT e.subject, min(e.created_at) AS at FROM counterfoil.event AS e
    WHERE e.type = 'redemption.pending' GROUP BY e.subject
) AS told
WHERE r.id::text = told.subject;
UPDATE counterfoil.redemption AS r SET pending_at = r.reserved_at WHERE r.status = 'pending' AND r.pending_at IS NULL;

INSERT INTO counterfoil.step
    (counts_with, redemption, period, at, kind, reserved, pending, completed, lapsed_at, over_cap)
SELECT
    r.counts_with, r.id, r.period, s.at, s.kind,
    s.reserved - left_hold.it::integer, s.pending - left_payment.it::integer, s.completed,
    CASE WHEN left_hold.it AND r.pending_at IS NULL AND r.expires_at <= s.at THEN r.expires_at END,
    r.over_cap AND s.kind = 'completed_late'
FROM counterfoil.redemption AS r
CROSS JOIN LATERAL (
    VALUES
        (1, r.reserved_at, 'reserved', 1, 0, 0, true),
        (2, r.pending_at, 'pending', 0, 1, 0, true),
        (3, r.released_at, 'released', 0, 0, 0, true),
        (4, r.completed_at, CASE WHEN r.released_at IS NULL THEN 'completed' ELSE 'completed_late' END, 0, 0, 1, true),
        (5, r.refunded_at, 'refunded', 0, 0, -1, r.status = 'refunded')
) AS s (place, at, kind, reserved, pending, completed, taken)
CROSS JOIN LATERAL (
    SELECT s.kind = 'pending' OR (s.kind IN ('released', 'completed') AND r.pending_at IS NULL) AS it
) AS left_hold
CROSS JOIN LATERAL (SELECT s.kind IN ('released', 'completed') AND r.pending_at IS NOT NULL AS it) AS left_payment
WHERE s.at IS NOT NULL AND s.taken
ORDER BY s.at, s.place;
