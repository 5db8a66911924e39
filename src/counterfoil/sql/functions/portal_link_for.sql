-- A link for a member, and the mail that carries it, if it is mailed. Always one row; outcome:
--   made        a newer invitation takes the place of those that were not used
--   too_often   `most` of its kind were made for the member within that time; NULL: any number
--   gone        the member was removed
CREATE FUNCTION counterfoil.portal_link_for(
    member bigint,
    kind text,
    token_hash bytea,
    good_for interval,
    mail jsonb,
    most integer,
    within interval
)
RETURNS TABLE (outcome text, link counterfoil.portal_link)
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz;
    made bigint;
BEGIN
    -- guard: links-of-a-member-are-counted-in-turn
    PERFORM FROM counterfoil.portal_member AS m WHERE m.id = member AND m.removed_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        outcome := 'gone';
        RETURN NEXT; RETURN;
    END IF;
    moment := counterfoil.clock();
    SELECT count(*) INTO made FROM counterfoil.portal_link AS l
    WHERE l.member_id = member AND l.kind = portal_link_for.kind AND l.created_at > moment - within;
    IF made >= most THEN
        outcome := 'too_often';
        RETURN NEXT; RETURN;
    END IF;
    IF portal_link_for.kind = 'invitation' THEN
        UPDATE counterfoil.portal_link AS l SET revoked_at = moment
        WHERE l.member_id = member AND l.kind = 'invitation' AND l.redeemed_at IS NULL AND l.revoked_at IS NULL;
    END IF;
    INSERT INTO counterfoil.portal_link AS l (member_id, kind, token_hash, created_at, ends_at)
    VALUES (member, portal_link_for.kind, portal_link_for.token_hash, moment, moment + good_for)
    RETURNING l.* INTO link;
    PERFORM counterfoil.write_mail(portal_link_for.mail, link.ends_at, moment);
    outcome := 'made';
    RETURN NEXT;
END
$$;
