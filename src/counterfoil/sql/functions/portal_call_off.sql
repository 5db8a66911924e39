-- Let a link that was not used open nothing any more: of an institution or of any (NULL), of a member or of any (NULL).
-- Answers whether there was one.
CREATE FUNCTION counterfoil.portal_call_off(institution bigint, member bigint, link bigint) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    whose counterfoil.portal_member;
BEGIN
    UPDATE counterfoil.portal_link AS l SET revoked_at = counterfoil.clock()
    FROM counterfoil.portal_member AS m
    WHERE m.id = l.member_id AND l.id = link
        -- guard: a-link-is-called-off-by-its-institution
        AND (portal_call_off.institution IS NULL OR m.institution_id = portal_call_off.institution)
        -- guard: a-link-is-called-off-by-its-member
        AND (portal_call_off.member IS NULL OR m.id = portal_call_off.member)
        AND l.redeemed_at IS NULL AND l.revoked_at IS NULL
    RETURNING m.* INTO whose;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM counterfoil.keep_record(
        'member.link_called_off', counterfoil.portal_slug(whose), counterfoil.portal_person(whose), NULL
    );
    RETURN true;
END
$$;
