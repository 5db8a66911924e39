-- Checkouts, newest first.
SELECT counterfoil.checkout_document(c) AS sale
FROM counterfoil.checkout AS c
WHERE (:id::uuid IS NULL OR c.id = :id::uuid)
    AND (:redemption::uuid IS NULL OR c.redemption_id = :redemption::uuid)
    AND (:buyer_key::text IS NULL OR c.buyer_key = :buyer_key::text)
    AND (:session_id::text IS NULL OR c.session_id = :session_id::text)
    AND (:browser::text IS NULL OR c.browser = :browser::text)
    AND (:status::text IS NULL OR c.status = :status::text)
    AND (:after_at::timestamptz IS NULL OR (c.created_at, c.id) < (:after_at::timestamptz, :after_id::uuid))
ORDER BY c.created_at DESC, c.id DESC
LIMIT :most::integer
