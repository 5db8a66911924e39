-- Who changed what, newest first.
SELECT a.id, a.at, a.actor_kind, a.actor_id, a.actor_name, a.action, a.subject, a.before, a.after
FROM counterfoil.audit AS a
WHERE (:action::text IS NULL OR a.action = :action::text)
    AND (:subject::text IS NULL OR a.subject = :subject::text)
    AND (:after::bigint IS NULL OR a.id < :after::bigint)
ORDER BY a.id DESC
LIMIT :most::integer
