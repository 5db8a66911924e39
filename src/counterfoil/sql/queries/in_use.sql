-- What is on its way in one allocation: live holds in the order in which they free themselves, delayed payments in the
-- order of their deadlines, and how many holds have lapsed.
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
    ) AS payments
FROM now
