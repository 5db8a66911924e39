-- Codes, newest first.
SELECT counterfoil.code_document(c) AS code
FROM counterfoil.code AS c
WHERE (:folded::text IS NULL OR c.folded = :folded::text)
    AND (:institution::bigint IS NULL OR c.institution_id = :institution::bigint)
    AND (:after::bigint IS NULL OR c.id < :after::bigint)
ORDER BY c.id DESC
LIMIT :most::integer
