-- A new code. A code that counts with another counts against that one's allocations, or against those it counts with
-- itself: there are no chains. No row: there is no such institution, or no such code to count with.
INSERT INTO counterfoil.code AS c (
    institution_id, code, folded, cap, counts_with, percent, amount_off, price, currency, calendar, per_buyer_limit,
    starts_on, ends_on, products, refund_policy,
    paused_at,
    batch_id,
    buyer_identity,
    currencies,
    at_most
)
SELECT
    i.id, :code::text, :folded::text, :cap::bigint, coalesce(pool.counts_with, pool.id), :percent::numeric,
    :amount_off::bigint, :price::bigint, :currency::text, coalesce(pool.calendar, :calendar::text), :per_buyer_limit::integer,
    :starts_on::date, :ends_on::date, :products::text[], :refund_policy::text,
    CASE WHEN :paused::boolean THEN counterfoil.clock() END,
    :batch::uuid,
    coalesce(:buyer_identity::text, 'address'),
    :currencies::jsonb,
    :at_most::jsonb
FROM counterfoil.institution AS i
LEFT JOIN counterfoil.code AS pool ON pool.folded = :counts_with::text
WHERE i.id = :institution::bigint AND (:counts_with::text IS NULL OR pool.id IS NOT NULL)
RETURNING counterfoil.code_document(c) AS code
