-- Products, newest first.
SELECT to_jsonb(p) AS product
FROM counterfoil.product AS p
WHERE (:id::text IS NULL OR p.id = :id::text)
    AND (:after_at::timestamptz IS NULL OR (p.created_at, p.id) < (:after_at::timestamptz, :after_id::text))
ORDER BY p.created_at DESC, p.id DESC
LIMIT :most::integer
