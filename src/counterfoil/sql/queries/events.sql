-- Events, newest first.
SELECT e.seq, e.id, e.type, e.created_at, e.data
FROM counterfoil.event AS e
WHERE (:id::text IS NULL OR e.id = :id::text)
    AND (:type::text IS NULL OR e.type = :type::text)
    AND (:after::bigint IS NULL OR e.seq < :after::bigint)
ORDER BY e.seq DESC
LIMIT :most::integer
