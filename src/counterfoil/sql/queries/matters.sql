-- What a person must look at, newest first.
SELECT a.id, a.kind, a.subject, a.detail, a.raised_at, a.resolved_at
FROM counterfoil.attention AS a
WHERE (:id::bigint IS NULL OR a.id = :id::bigint)
    AND (:kind::text IS NULL OR a.kind = :kind::text)
    AND (:resolved::boolean IS NULL OR (a.resolved_at IS NOT NULL) = :resolved::boolean)
    AND (:after_at::timestamptz IS NULL OR (a.raised_at, a.id) < (:after_at::timestamptz, :after_id::bigint))
ORDER BY a.raised_at DESC, a.id DESC
LIMIT :most::integer
