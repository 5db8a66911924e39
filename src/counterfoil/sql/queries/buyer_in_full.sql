-- All that is held about a person, as one document: the rows as they are.
WITH claims AS MATERIALIZED (
    SELECT * FROM counterfoil.redemptions_of_buyer(:buyer_key::text, :mailbox_key::text)
), sales AS MATERIALIZED (
    SELECT * FROM counterfoil.checkouts_of_buyer(:buyer_key::text, :mailbox_key::text)
), subjects AS MATERIALIZED (
    SELECT r.id::text AS name FROM claims AS r
    UNION
    SELECT c.id::text FROM sales AS c
), at_stripe AS MATERIALIZED (
    SELECT unnest(r.former_sessions || r.session_id) AS name FROM claims AS r
    UNION
    SELECT c.session_id FROM sales AS c
), events AS MATERIALIZED (
    SELECT e.* FROM counterfoil.event AS e WHERE e.subject IN (SELECT s.name FROM subjects AS s)
)
SELECT jsonb_build_object(
    'addresses', (
        SELECT coalesce(jsonb_agg(DISTINCT known.buyer), '[]')
        FROM (SELECT r.buyer FROM claims AS r UNION SELECT c.buyer FROM sales AS c) AS known
    ),
    'redemptions', (SELECT coalesce(jsonb_agg(to_jsonb(r) ORDER BY r.reserved_at), '[]') FROM claims AS r),
    'checkouts', (SELECT coalesce(jsonb_agg(to_jsonb(c) ORDER BY c.created_at), '[]') FROM sales AS c),
    'entitlements', (
        SELECT coalesce(jsonb_agg(to_jsonb(e) ORDER BY e.granted_at), '[]') FROM counterfoil.entitlement AS e
        WHERE (e.counts_with, e.checkout_id) IN (SELECT c.counts_with, c.id FROM sales AS c)
    ),
    'events', (
        SELECT coalesce(jsonb_agg(to_jsonb(e) - 'seq' ORDER BY e.seq), '[]') FROM events AS e
    ),
    'deliveries', (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
            'event', e.id, 'url', w.url, 'attempts', d.attempts, 'delivered_at', d.delivered_at, 'last_error', d.last_error
        ) ORDER BY d.seq, d.endpoint_id), '[]')
        FROM events AS e
        JOIN counterfoil.delivery AS d ON d.seq = e.seq
        JOIN counterfoil.webhook_endpoint AS w ON w.id = d.endpoint_id
    ),
    'steps', (
        SELECT coalesce(jsonb_agg(to_jsonb(s) ORDER BY s.seq), '[]')
        FROM claims AS r JOIN counterfoil.step AS s ON s.counts_with = r.counts_with AND s.redemption = r.id
    ),
    'attention', (
        SELECT coalesce(jsonb_agg(to_jsonb(a) ORDER BY a.id), '[]') FROM counterfoil.attention AS a
        WHERE a.subject IN (SELECT s.name FROM subjects AS s)
            OR a.subject IN (SELECT s.name FROM at_stripe AS s)
            OR a.subject IN (SELECT c.payment_intent FROM sales AS c)
    ),
    'audit', (
        SELECT coalesce(jsonb_agg(to_jsonb(a) - '{actor_id,actor_name}'::text[] ORDER BY a.id), '[]')
        FROM counterfoil.audit AS a WHERE a.subject IN (SELECT s.name FROM subjects AS s)
    ),
    'idempotency_keys', (
        SELECT coalesce(jsonb_agg(jsonb_build_object('key', i.key, 'begun_at', i.begun_at, 'resource', i.resource)), '[]')
        FROM counterfoil.idempotency AS i
        WHERE split_part(i.resource, ':', 2) IN (SELECT s.name FROM subjects AS s)
    ),
    'at_stripe', jsonb_build_object(
        'sessions', (SELECT coalesce(jsonb_agg(s.name ORDER BY s.name), '[]') FROM at_stripe AS s WHERE s.name IS NOT NULL),
        'payment_intents', (
            SELECT coalesce(jsonb_agg(c.payment_intent ORDER BY c.payment_intent), '[]')
            FROM sales AS c WHERE c.payment_intent IS NOT NULL
        )
    )
) AS held
