-- Every number behind a yes or a no at this instant, in one snapshot. The decision is `consider`'s, and that of an address
-- `hoarding`'s; here they are only shown. Without a product, it is the first of those that the code is good for.
WITH decision AS MATERIALIZED (
    SELECT d.*, now.moment, now.product
    FROM (
        SELECT
            counterfoil.clock() AS moment,
            coalesce(
                :product::text, (SELECT c.products[1] FROM counterfoil.code AS c WHERE c.folded = :code::text)
            ) AS product
        OFFSET 0
    ) AS now
    CROSS JOIN LATERAL counterfoil.consider(
        :code::text, NULL, now.product, :buyer_key::text, now.moment, :mailbox_key::text
    ) AS d
)
SELECT
    d.outcome, d.period AS in_period, d.places, d.held, d.next_release_at, d.per_buyer_limit, d.starts_on, d.ends_on,
    NULL AS asks, counterfoil.redemption_document(d.claim) AS claim, NULL AS sale,
    d.moment,
    counterfoil.code_document(c) AS code,
    to_jsonb(p) AS product,
    (d.moment AT TIME ZONE school.time_zone)::date AS today,
    pool.code AS pool, pool.calendar, keeper.name AS keeper, keeper.time_zone AS keeper_zone,
    a.code_id IS NOT NULL AS cap_is_own,
    CASE WHEN a.code_id IS NULL THEN pool.cap ELSE a.cap END AS cap,
    a.note,
    coalesce(a.used, 0) AS used,
    living.reserved, living.held AS live, living.pending, living.next_release_at AS frees_at,
    coalesce(room.overdue, 0) AS overdue,
    (
        -- Nobody could have paid these: their places are taken back without asking.
        SELECT count(*) FROM counterfoil.redemption AS r
        WHERE r.counts_with = d.counts_with AND r.period = d.period AND r.status = 'reserved'
            AND r.expires_at <= d.moment AND r.session_id IS NULL AND r.former_sessions = '{}'
    ) AS never_payable,
    own.spent,
    (
        SELECT count(*)
        FROM (
            SELECT DISTINCT r.origin FROM counterfoil.redemption AS r
            WHERE r.counts_with = d.counts_with AND r.origin IS NOT NULL AND r.reserved_at > d.moment - interval '1 day'
                AND :holds_per_address::integer > 0
            LIMIT 1000
        ) AS address
        CROSS JOIN LATERAL counterfoil.hoarding(
            d.counts_with, d.period, address.origin, :holds_per_address::integer, 0, d.moment
        )
    ) AS hoarding,
    (
        SELECT count(*)
        FROM (
            SELECT FROM counterfoil.guess AS g
            WHERE g.wrong AND g.origin <> '' AND g.tried_at > d.moment - :within::interval AND g.tried_at <= d.moment
                AND :wrong_codes_per_address::integer > 0
            GROUP BY g.origin
            HAVING count(*) >= :wrong_codes_per_address::integer
        ) AS address
    ) AS guessing,
    (
        SELECT b.wait_until FROM counterfoil.burst AS b
        WHERE b.noticed_at <= d.moment AND b.wait_until > d.moment AND :pauses::boolean
    ) AS codes_wait_until,
    ARRAY(
        SELECT o.code FROM counterfoil.code AS o
        WHERE d.code_id IS NULL AND (
            o.folded LIKE ANY (:near::text[])
            OR (length(:code::text) > 3 AND strpos(o.folded, :code::text) > 0)
            OR (length(o.folded) > 3 AND strpos(:code::text, o.folded) > 0)
        )
        ORDER BY o.folded
        LIMIT 5
    ) AS near
FROM decision AS d
LEFT JOIN counterfoil.product AS p ON p.id = d.product
LEFT JOIN counterfoil.code AS c ON c.id = d.code_id
LEFT JOIN counterfoil.institution AS school ON school.id = c.institution_id
LEFT JOIN counterfoil.code AS pool ON pool.id = d.counts_with
LEFT JOIN counterfoil.institution AS keeper ON keeper.id = pool.institution_id
LEFT JOIN counterfoil.allocation AS a ON a.code_id = d.counts_with AND a.period = d.period
CROSS JOIN LATERAL counterfoil.living(d.counts_with, d.period, d.moment) AS living
LEFT JOIN LATERAL counterfoil.room(d.counts_with, d.period, d.moment) AS room ON true
CROSS JOIN LATERAL counterfoil.claims_of(
    d.counts_with, d.period, coalesce(d.mailbox, :buyer_key::text)
) AS own
