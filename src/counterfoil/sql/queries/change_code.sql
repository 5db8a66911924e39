-- A changed code, if it still is as it was read. Allocations that exist keep their caps. Where it took the place of the
-- code that allocations are made from, that one's cap is its own.
WITH changed AS (
    UPDATE counterfoil.code AS c
    SET cap = :cap::bigint, percent = :percent::numeric, amount_off = :amount_off::bigint, price = :price::bigint,
        currency = :currency::text, per_buyer_limit = :per_buyer_limit::integer, starts_on = :starts_on::date,
        ends_on = :ends_on::date, products = :products::text[], refund_policy = :refund_policy::text,
        currencies = :currencies::jsonb,
        at_most = :at_most::jsonb,
        calendar = coalesce(:calendar::text, c.calendar),
        paused_at = CASE WHEN :paused::boolean THEN coalesce(c.paused_at, (SELECT counterfoil.clock())) END,
        version = c.version + 1
    WHERE c.id = :id::bigint AND c.version = :version::bigint
    RETURNING c.id, c.counts_with, c.cap, counterfoil.code_document(c) AS code
), root AS (
    UPDATE counterfoil.code AS pool SET cap = changed.cap FROM changed
    WHERE pool.id = changed.counts_with AND pool.replaced_by = changed.id AND pool.cap IS DISTINCT FROM changed.cap
)
SELECT code FROM changed
