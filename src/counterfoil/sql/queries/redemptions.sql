-- Redemptions, newest first. A line whose parameter is not given is left out (`Sql.given`): each question has its own
-- plan, by an index.
SELECT counterfoil.redemption_document(r) AS claim
FROM counterfoil.redemption AS r
WHERE true
    AND r.id = :id::uuid
    AND r.code_id = (SELECT c.id FROM counterfoil.code AS c WHERE c.folded = :code::text)
    AND r.code_id IN (SELECT c.id FROM counterfoil.code AS c WHERE c.institution_id = :institution::bigint)
    AND r.period = :period::text
    AND r.status = :status::text
    AND ((r.buyer_key ~>=~ :buyer::text AND r.buyer_key ~<~ (:buyer::text || chr(1114111))) OR (r.buyer_key ~>=~ :buyer_folded::text AND r.buyer_key ~<~ (:buyer_folded::text || chr(1114111))))
    AND (r.session_id = :session_id::text OR (r.former_sessions <> '{}' AND r.former_sessions @> ARRAY[:session_id::text]))
    AND (r.counts_with, r.id) IN (SELECT c.counts_with, c.redemption_id FROM counterfoil.checkout AS c WHERE c.payment_intent = :payment_intent::text)
    AND (r.reserved_at, r.id) < (:after_at::timestamptz, :after_id::uuid)
ORDER BY r.reserved_at DESC, r.id DESC
LIMIT :most::integer
