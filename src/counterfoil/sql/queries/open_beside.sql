-- The same buyer's other open checkouts of the same thing, at another code: there is to be one payment page for it. One
-- at full price is among them only if the same browser began both, for a caller with a key may want several.
SELECT counterfoil.checkout_document(other) AS sale
FROM counterfoil.checkout AS own
JOIN counterfoil.checkout AS other
    ON other.buyer_key = own.buyer_key
    AND other.status = 'open'
    AND (other.counts_with, other.id) <> (own.counts_with, own.id)
    AND other.product_id IS NOT DISTINCT FROM own.product_id
    AND other.name = own.name
    -- Whoever types somebody else's address on a page must not end that person's checkout.
    AND other.browser IS NOT DISTINCT FROM own.browser
    AND (other.browser IS NOT NULL OR (other.counts_with <> 0 AND own.counts_with <> 0))
WHERE own.counts_with = :counts_with::bigint AND own.id = :checkout::uuid
ORDER BY other.created_at
LIMIT 10
