-- Write down a checkout at full price: it holds no place.
INSERT INTO counterfoil.checkout AS c (
    id, product_id, name, unlocks, buyer, buyer_key, list_amount, amount, currency, success_url, cancel_url,
    metadata, browser, livemode, created_at
)
VALUES (
    :checkout::uuid, :product::text, :name::text, :unlocks::text[], :buyer::text, :buyer_key::text,
    :list_amount::bigint, :list_amount::bigint, :currency::text, :success_url::text, :cancel_url::text,
    :metadata::jsonb, :browser::text, :livemode::boolean, (SELECT counterfoil.clock())
)
RETURNING counterfoil.checkout_document(c) AS sale
