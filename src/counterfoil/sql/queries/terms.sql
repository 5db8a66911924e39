-- What a price is worked out from: the code as it is now, and the product.
SELECT
    (SELECT counterfoil.code_document(c) FROM counterfoil.code AS c WHERE c.folded = :code::text) AS code,
    (SELECT to_jsonb(p) FROM counterfoil.product AS p WHERE p.id = :product::text) AS product
