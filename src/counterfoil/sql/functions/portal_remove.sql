-- Take a member out: every session and every link of theirs is over. Answers whether there was one to take out.
CREATE FUNCTION counterfoil.portal_remove(institution bigint, member bigint) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz := counterfoil.clock();
BEGIN
    UPDATE counterfoil.portal_member AS m SET removed_at = moment
    WHERE m.institution_id = institution AND m.id = member AND m.removed_at IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE counterfoil.portal_session AS s SET ended_at = moment WHERE s.member_id = member AND s.ended_at IS NULL;
    UPDATE counterfoil.portal_link AS l SET revoked_at = moment
    WHERE l.member_id = member AND l.redeemed_at IS NULL AND l.revoked_at IS NULL;
    RETURN true;
END
$$;
