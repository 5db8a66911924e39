-- A changed code, if it still is as it was read. Allocations that exist keep their caps.
UPDATE counterfoil.code AS c
SET cap = :cap::bigint, percent = :percent::numeric, amount_off = :amount_off::bigint, price = :price::bigint,
    currency = :currency::text, per_buyer_limit = :per_buyer_limit::integer, starts_on = :starts_on::date,
    ends_on = :ends_on::date, products = :products::text[], refund_policy = :refund_policy::text,
    currencies = :currencies::jsonb,
    at_most = :at_most::jsonb,
    paused_at = CASE WHEN :paused::boolean THEN coalesce(c.paused_at, (SELECT counterfoil.clock())) END,
    version = c.version + 1
WHERE c.id = :id::bigint AND c.version = :version::bigint
RETURNING counterfoil.code_document(c) AS code
