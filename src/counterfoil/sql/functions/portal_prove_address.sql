-- Whoever reads an address's mail says that it is the member's: once. From now on it is the member's, and the one before
-- is nobody's, and told so. Always one row; outcome: proved, taken (by a colleague, since), used, over, revoked, unknown.
CREATE FUNCTION counterfoil.portal_prove_address(token_hash bytea, farewell jsonb) RETURNS TABLE (outcome text)
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz;
    whose counterfoil.portal_member;
    proved counterfoil.portal_address;
BEGIN
    -- Two addresses of one institution take turns, as its invitations do: one is nobody else's.
    PERFORM FROM counterfoil.institution AS i WHERE i.id = (
        SELECT m.institution_id FROM counterfoil.portal_address AS p
        JOIN counterfoil.portal_member AS m ON m.id = p.member_id
        WHERE p.token_hash = portal_prove_address.token_hash
    ) FOR NO KEY UPDATE;
    moment := counterfoil.clock();
    SELECT m.* INTO whose FROM counterfoil.portal_member AS m
    WHERE m.id = (SELECT p.member_id FROM counterfoil.portal_address AS p WHERE p.token_hash = portal_prove_address.token_hash)
    FOR UPDATE;
    outcome := counterfoil.portal_address_state(portal_prove_address.token_hash);
    -- guard: an-address-is-proved-by-a-link-that-is-good
    IF outcome <> 'good' THEN
        RETURN NEXT; RETURN;
    END IF;
    SELECT p.* INTO proved FROM counterfoil.portal_address AS p WHERE p.token_hash = portal_prove_address.token_hash;
    IF counterfoil.portal_address_taken(whose, proved.email_key) THEN
        outcome := 'taken';
        RETURN NEXT; RETURN;
    END IF;
    UPDATE counterfoil.portal_address AS p SET proved_at = moment WHERE p.id = proved.id;
    UPDATE counterfoil.portal_member AS m SET email = proved.email, email_key = proved.email_key WHERE m.id = whose.id;
    -- What is still on its way to the old address opens nothing.
    UPDATE counterfoil.portal_link AS l SET revoked_at = moment
    WHERE l.member_id = whose.id AND l.redeemed_at IS NULL AND l.revoked_at IS NULL;
    IF whose.email IS NOT NULL THEN
        PERFORM counterfoil.write_mail(farewell || jsonb_build_object('recipient', whose.email), NULL, moment);
    END IF;
    PERFORM counterfoil.keep_record(
        'member.changed', counterfoil.portal_slug(whose), jsonb_build_object('email', whose.email),
        jsonb_build_object('email', proved.email), counterfoil.portal_actor(whose)
    );
    outcome := 'proved';
    RETURN NEXT;
END
$$;

-- What a link that proves an address is good for now: good, used, over, revoked, unknown. Looking changes nothing.
CREATE FUNCTION counterfoil.portal_address_state(token_hash bytea) RETURNS text
LANGUAGE sql VOLATILE
AS $$
    SELECT coalesce(
        (
            SELECT CASE
                WHEN p.proved_at IS NOT NULL THEN 'used'
                WHEN p.revoked_at IS NOT NULL OR m.removed_at IS NOT NULL THEN 'revoked'
                WHEN p.ends_at <= counterfoil.clock() THEN 'over'
                ELSE 'good'
            END
            FROM counterfoil.portal_address AS p
            JOIN counterfoil.portal_member AS m ON m.id = p.member_id
            WHERE p.token_hash = portal_address_state.token_hash
        ),
        'unknown'
    )
$$;
