-- Take a member out: every session and every link of theirs is over. Answers whether there was one to take out.
CREATE FUNCTION counterfoil.portal_remove(institution bigint, member bigint) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz := counterfoil.clock();
    was counterfoil.portal_member;
BEGIN
    UPDATE counterfoil.portal_member AS m SET removed_at = moment
    WHERE m.institution_id = institution AND m.id = member AND m.removed_at IS NULL
    RETURNING m.* INTO was;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE counterfoil.portal_session AS s SET ended_at = moment WHERE s.member_id = member AND s.ended_at IS NULL;
    UPDATE counterfoil.portal_link AS l SET revoked_at = moment
    WHERE l.member_id = member AND l.redeemed_at IS NULL AND l.revoked_at IS NULL;
    UPDATE counterfoil.portal_address AS p SET revoked_at = moment
    WHERE p.member_id = member AND p.proved_at IS NULL AND p.revoked_at IS NULL;
    PERFORM counterfoil.keep_record(
        'member.removed', counterfoil.portal_slug(was), counterfoil.portal_person(was), NULL
    );
    RETURN true;
END
$$;
