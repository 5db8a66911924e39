-- What is on its way in one allocation: live holds in the order in which they free themselves, delayed payments in the
-- order of their deadlines, how many holds have lapsed, and the cap's last changes.
WITH now AS MATERIALIZED (SELECT counterfoil.clock() AS moment)
SELECT
    now.moment,
    ARRAY(
        SELECT counterfoil.redemption_document(r) FROM counterfoil.redemption AS r
        WHERE r.counts_with = :counts_with::bigint AND r.period = :period::text AND r.status = 'reserved'
            AND r.expires_at > now.moment
        ORDER BY r.expires_at LIMIT :most::integer
    ) AS holds,
    (
        SELECT count(*) FROM counterfoil.redemption AS r
        WHERE r.counts_with = :counts_with::bigint AND r.period = :period::text AND r.status = 'reserved'
            AND r.expires_at <= now.moment
    ) AS lapsed,
    ARRAY(
        SELECT counterfoil.redemption_document(r) FROM counterfoil.redemption AS r
        WHERE r.counts_with = :counts_with::bigint AND r.period = :period::text AND r.status = 'pending'
        ORDER BY r.expires_at LIMIT :most::integer
    ) AS payments,
    ARRAY(
        SELECT to_jsonb(change) FROM counterfoil.cap_change AS change
        WHERE change.code_id = :counts_with::bigint AND change.period = :period::text
        ORDER BY change.id DESC LIMIT :most::integer
    ) AS changes
FROM now
