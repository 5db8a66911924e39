-- Institutions, newest first; one of them by its slug or its id.
SELECT to_jsonb(i) AS institution
FROM counterfoil.institution AS i
WHERE (:key::text IS NULL OR i.slug = :key::text OR i.id::text = :key::text)
    AND (:after::bigint IS NULL OR i.id < :after::bigint)
ORDER BY (i.slug = :key::text) DESC NULLS LAST, i.id DESC
LIMIT :most::integer
