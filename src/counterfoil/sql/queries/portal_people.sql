-- Who belongs to an institution's page, and who is invited: with the links that are still good, and the
-- address that is not proved yet.
SELECT
    m.id, m.institution_id, m.email, m.name, m.wants_notices, m.invited_at, m.joined_at,
    open.id AS link, open.ends_at AS link_ends_at,
    (
        SELECT coalesce(
            jsonb_agg(jsonb_build_object('id', l.id, 'kind', l.kind, 'ends_at', l.ends_at) ORDER BY l.id), '[]'
        )
        FROM counterfoil.portal_link AS l
        WHERE l.member_id = m.id AND l.redeemed_at IS NULL AND l.revoked_at IS NULL AND l.ends_at > counterfoil.clock()
    ) AS links,
    (
        SELECT p.email FROM counterfoil.portal_address AS p
        WHERE p.member_id = m.id AND p.proved_at IS NULL AND p.revoked_at IS NULL AND p.ends_at > counterfoil.clock()
        ORDER BY p.id DESC LIMIT 1
    ) AS claimed,
    (
        SELECT max(s.last_seen_at) FROM counterfoil.portal_session AS s
        WHERE s.member_id = m.id AND s.ended_at IS NULL
    ) AS last_seen_at
FROM counterfoil.portal_member AS m
LEFT JOIN LATERAL (
    SELECT l.id, l.ends_at FROM counterfoil.portal_link AS l
    WHERE l.member_id = m.id AND l.kind = 'invitation' AND l.redeemed_at IS NULL AND l.revoked_at IS NULL
        AND l.ends_at > counterfoil.clock()
    ORDER BY l.id DESC LIMIT 1
) AS open ON true
WHERE m.institution_id = :institution::bigint AND m.removed_at IS NULL
    AND (m.joined_at IS NOT NULL OR m.email IS NOT NULL OR open.id IS NOT NULL)
ORDER BY m.id
