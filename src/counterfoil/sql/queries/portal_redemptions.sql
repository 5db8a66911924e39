-- What became of a code's places, and of those whose place it took, newest first, for its own institution: days of its
-- zone, no buyer unless the seller allowed it, no session.
SELECT
    c.code, r.period,
    CASE WHEN r.status = 'reserved' AND r.expires_at <= counterfoil.clock() THEN 'lapsed' ELSE r.status END AS status,
    (r.reserved_at AT TIME ZONE i.time_zone)::date AS reserved_on,
    (r.completed_at AT TIME ZONE i.time_zone)::date AS completed_on,
    s.name AS product,
    CASE WHEN i.shows_buyers THEN r.buyer END AS buyer,
    r.reserved_at, r.id
FROM counterfoil.code AS c
JOIN counterfoil.institution AS i ON i.id = c.institution_id
JOIN counterfoil.redemption AS r ON r.code_id = c.id
LEFT JOIN counterfoil.checkout AS s ON s.counts_with = r.counts_with AND s.redemption_id = r.id
WHERE c.institution_id = :institution::bigint
    AND coalesce(c.replaced_by, c.id) = (SELECT typed.id FROM counterfoil.code AS typed WHERE typed.folded = :code::text)
    AND (:period::text IS NULL OR r.period = :period::text)
    AND (:after_at::timestamptz IS NULL OR (r.reserved_at, r.id) < (:after_at::timestamptz, :after_id::uuid))
ORDER BY r.reserved_at DESC, r.id DESC
LIMIT :most::integer
