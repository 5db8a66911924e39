-- What a buyer's purchases opened, newest first.
SELECT to_jsonb(e) AS entitlement
FROM counterfoil.entitlement AS e
WHERE e.buyer_key = :buyer_key::text AND (:all::boolean OR e.revoked_at IS NULL)
    AND (
        :after_at::timestamptz IS NULL
        OR (e.granted_at, e.checkout_id, e.unlock) < (:after_at::timestamptz, :after_id::uuid, :after_unlock::text)
    )
ORDER BY e.granted_at DESC, e.checkout_id DESC, e.unlock DESC
LIMIT :most::integer
