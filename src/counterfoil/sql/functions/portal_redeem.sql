-- Open the page with a link: once. Always one row; outcome: opened, used, over, revoked, unknown.
CREATE FUNCTION counterfoil.portal_redeem(token_hash bytea, session_hash bytea)
RETURNS TABLE (outcome text, member bigint)
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz := counterfoil.clock();
    link counterfoil.portal_link;
    whose counterfoil.portal_member;
BEGIN
    UPDATE counterfoil.portal_link AS l SET redeemed_at = moment
    FROM counterfoil.portal_member AS m
    WHERE l.token_hash = portal_redeem.token_hash AND m.id = l.member_id AND m.removed_at IS NULL
        -- guard: a-link-opens-once
        AND l.redeemed_at IS NULL
        -- guard: a-revoked-link-opens-nothing
        AND l.revoked_at IS NULL
        -- guard: a-link-that-is-over-opens-nothing
        AND l.ends_at > moment
    RETURNING l.* INTO link;
    IF NOT FOUND THEN
        outcome := counterfoil.portal_link_state(portal_redeem.token_hash);
        -- Used in this very moment by another request, it looked good until then.
        outcome := CASE outcome WHEN 'good' THEN 'used' ELSE outcome END;
        RETURN NEXT; RETURN;
    END IF;
    -- Whoever is in needs no other link.
    UPDATE counterfoil.portal_link AS l SET revoked_at = moment
    WHERE l.member_id = link.member_id AND l.redeemed_at IS NULL AND l.revoked_at IS NULL;
    SELECT m.* INTO whose FROM counterfoil.portal_member AS m WHERE m.id = link.member_id;
    UPDATE counterfoil.portal_member AS m SET joined_at = moment WHERE m.id = link.member_id AND m.joined_at IS NULL;
    INSERT INTO counterfoil.portal_session (member_id, token_hash, created_at, last_seen_at)
    VALUES (link.member_id, session_hash, moment, moment);
    PERFORM counterfoil.keep_record(
        CASE WHEN whose.joined_at IS NULL THEN 'member.joined' ELSE 'member.signed_in' END,
        counterfoil.portal_slug(whose), NULL, counterfoil.portal_person(whose), counterfoil.portal_actor(whose)
    );
    outcome := 'opened';
    member := link.member_id;
    RETURN NEXT;
END
$$;

-- What a link is good for now: good, used, over, revoked, unknown. Looking changes nothing: scanners of mail look.
CREATE FUNCTION counterfoil.portal_link_state(token_hash bytea) RETURNS text
LANGUAGE sql VOLATILE
AS $$
    SELECT coalesce(
        (
            SELECT CASE
                WHEN l.redeemed_at IS NOT NULL THEN 'used'
                WHEN l.revoked_at IS NOT NULL OR m.removed_at IS NOT NULL THEN 'revoked'
                WHEN l.ends_at <= counterfoil.clock() THEN 'over'
                ELSE 'good'
            END
            FROM counterfoil.portal_link AS l
            JOIN counterfoil.portal_member AS m ON m.id = l.member_id
            WHERE l.token_hash = portal_link_state.token_hash
        ),
        'unknown'
    )
$$;
