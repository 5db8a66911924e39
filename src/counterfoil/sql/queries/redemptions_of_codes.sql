-- Redemptions of one code, or of all codes of an institution, newest first: the newest of each code, by its index, and
-- of those the newest. A line whose parameter is not given is left out (`Sql.given`).
SELECT counterfoil.redemption_document(r.claim) AS claim
FROM (
    SELECT c.id FROM counterfoil.code AS c
    WHERE true
        AND c.folded = :code::text
        AND c.institution_id = :institution::bigint
    OFFSET 0
) AS wanted
CROSS JOIN LATERAL (
    SELECT newest AS claim, newest.reserved_at, newest.id
    FROM counterfoil.redemption AS newest
    WHERE newest.code_id = wanted.id
        AND newest.period = :period::text
        AND newest.status = :status::text
        AND (newest.reserved_at, newest.id) < (:after_at::timestamptz, :after_id::uuid)
    ORDER BY newest.reserved_at DESC, newest.id DESC
    LIMIT :most::integer
) AS r
ORDER BY r.reserved_at DESC, r.id DESC
LIMIT :most::integer
