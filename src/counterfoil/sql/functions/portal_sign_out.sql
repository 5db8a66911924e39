-- End one session of a member, or all of them (NULL): then the links that are out open nothing either. Answers whether
-- the member is of the institution.
CREATE FUNCTION counterfoil.portal_sign_out(institution bigint, member bigint, session bigint) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz := counterfoil.clock();
    whose counterfoil.portal_member;
BEGIN
    SELECT m.* INTO whose FROM counterfoil.portal_member AS m
    -- guard: a-member-is-signed-out-by-their-institution
    WHERE m.id = member AND m.removed_at IS NULL AND m.institution_id = portal_sign_out.institution;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE counterfoil.portal_session AS s SET ended_at = moment
    WHERE s.member_id = member AND (session IS NULL OR s.id = session) AND s.ended_at IS NULL;
    IF session IS NULL THEN
        UPDATE counterfoil.portal_link AS l SET revoked_at = moment
        WHERE l.member_id = member AND l.kind = 'sign_in' AND l.redeemed_at IS NULL AND l.revoked_at IS NULL;
        PERFORM counterfoil.keep_record(
            'member.signed_out', counterfoil.portal_slug(whose), NULL, counterfoil.portal_person(whose)
        );
    END IF;
    RETURN true;
END
$$;
