-- Which of these events were never settled: never heard of, or heard and not settled.
SELECT asked.id, e.id IS NOT NULL AS received
FROM unnest(:ids::text[]) AS asked (id)
LEFT JOIN counterfoil.stripe_event AS e ON e.id = asked.id
WHERE e.settled_at IS NULL
