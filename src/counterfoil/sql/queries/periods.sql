-- The periods of a code that have an allocation, newest first.
SELECT a.period
FROM counterfoil.code AS c
JOIN counterfoil.allocation AS a ON a.code_id = coalesce(c.counts_with, c.id)
WHERE c.folded = :code::text AND (:after::text IS NULL OR a.period < :after::text)
ORDER BY a.period DESC
LIMIT :most::integer
