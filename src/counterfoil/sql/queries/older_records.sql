-- The sessions of rows that began before a moment and are compared one by one all the same: those that are not settled
-- although their session's time is over, and those that were settled since that moment. By row, in the order of their ids.
SELECT id, sessions
FROM (
    SELECT r.id, array_remove(r.former_sessions || r.session_id, NULL) AS sessions
    FROM counterfoil.redemption AS r
    WHERE r.status = 'reserved' AND r.expires_at <= (SELECT counterfoil.clock())
        AND r.reserved_at < :since::timestamptz
    UNION ALL
    -- A delayed payment has its deadline in weeks, but what became of it can be known long before.
    SELECT r.id, array_remove(r.former_sessions || r.session_id, NULL)
    FROM counterfoil.redemption AS r
    WHERE r.status = 'pending' AND r.reserved_at < :since::timestamptz
    UNION ALL
    -- From here on only those that began within a season: the newest are found by an index, and so the rest is not read.
    SELECT r.id, array_remove(r.former_sessions || r.session_id, NULL)
    FROM counterfoil.redemption AS r
    WHERE r.status IN ('completed', 'released', 'refunded')
        AND r.reserved_at < :since::timestamptz AND r.reserved_at >= :since::timestamptz - :season::interval
        AND greatest(r.completed_at, r.released_at, r.refunded_at) >= :since::timestamptz
    UNION ALL
    SELECT c.id, ARRAY[c.session_id]
    FROM counterfoil.checkout AS c
    WHERE c.counts_with = 0 AND c.status IN ('open', 'pending')
        AND c.session_expires_at <= (SELECT counterfoil.clock()) AND c.created_at < :since::timestamptz
    UNION ALL
    SELECT c.id, ARRAY[c.session_id]
    FROM counterfoil.checkout AS c
    WHERE c.counts_with = 0 AND c.status IN ('paid', 'refunded') AND c.session_id IS NOT NULL
        AND c.created_at < :since::timestamptz AND c.created_at >= :since::timestamptz - :season::interval
        AND c.paid_at >= :since::timestamptz
) AS older
WHERE (:after::uuid IS NULL OR id > :after::uuid) AND cardinality(sessions) > 0
ORDER BY id
LIMIT :most::integer
