-- Hold the place and write down the checkout it is for: one decision, one round trip, one commit.
WITH decision AS MATERIALIZED (
    SELECT * FROM counterfoil.reserve(
        id => :id::uuid, code => :code::text, version => :version::bigint, product => :product::text,
        buyer => :buyer::text, buyer_key => :buyer_key::text, hold => :hold::interval,
        lock_timeout => :lock_timeout::interval, instead_of => :instead_of::uuid,
        origin => :origin::text, holds_per_origin => :holds_per_origin::integer,
        mailbox_key => :mailbox_key::text
    )
), sale AS (
    INSERT INTO counterfoil.checkout AS c (
        id, counts_with, redemption_id, product_id, name, unlocks, buyer, buyer_key, list_amount, discount_amount,
        amount, currency, success_url, cancel_url, metadata, browser, livemode, created_at
    )
    SELECT
        :checkout::uuid, (d.claim).counts_with, (d.claim).id, :product::text, :name::text, :unlocks::text[],
        (d.claim).buyer, (d.claim).buyer_key, :list_amount::bigint, :discount_amount::bigint, :amount::bigint,
        :currency::text, :success_url::text, :cancel_url::text, :metadata::jsonb, :browser::text,
        :livemode::boolean, (d.claim).reserved_at
    FROM decision AS d
    WHERE d.outcome = 'held'
    RETURNING c.*
)
SELECT
    d.outcome, d.in_period, d.places, d.held, d.next_release_at, d.per_buyer_limit, d.starts_on, d.ends_on, d.asks,
    counterfoil.redemption_document(d.claim) AS claim,
    (SELECT to_jsonb(sale) FROM sale) AS sale
FROM decision AS d
