-- Redemptions, newest first.
SELECT counterfoil.redemption_document(r) AS claim
FROM counterfoil.redemption AS r
WHERE (:id::uuid IS NULL OR r.id = :id::uuid)
    AND (:code::text IS NULL OR r.code_id = (SELECT c.id FROM counterfoil.code AS c WHERE c.folded = :code::text))
    AND (:period::text IS NULL OR r.period = :period::text)
    AND (:status::text IS NULL OR r.status = :status::text)
    AND (
        :institution::bigint IS NULL
        OR r.code_id IN (SELECT c.id FROM counterfoil.code AS c WHERE c.institution_id = :institution::bigint)
    )
    AND (:after_at::timestamptz IS NULL OR (r.reserved_at, r.id) < (:after_at::timestamptz, :after_id::uuid))
ORDER BY r.reserved_at DESC, r.id DESC
LIMIT :most::integer
