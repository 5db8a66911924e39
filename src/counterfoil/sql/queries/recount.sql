-- Every allocation whose gate counter is not what its rows say. There should be none.
SELECT c.code, a.period, a.used, counted.places
FROM counterfoil.allocation AS a
JOIN counterfoil.code AS c ON c.id = a.code_id
CROSS JOIN LATERAL (
    SELECT count(*) AS places FROM counterfoil.redemption AS r
    WHERE r.counts_with = a.code_id AND r.period = a.period AND r.status IN ('reserved', 'pending', 'completed')
) AS counted
WHERE a.used <> counted.places
ORDER BY c.code, a.period
