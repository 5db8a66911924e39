-- Invite somebody to an institution's page, by address, or whoever is given the link. Always one row; outcome:
--   made         the link is good
--   member       a colleague invited somebody who is there already
--   too_many     `most` people belong to the institution, or are invited
--   too_often    the same address was written to again and again, by this institution or by all of them
CREATE FUNCTION counterfoil.portal_invite(
    institution bigint,
    email text,
    email_key text,
    name text,
    by_colleague boolean,
    token_hash bytea,
    good_for interval,
    mail jsonb,
    most integer,
    most_here integer,
    most_anywhere integer
)
RETURNS TABLE (outcome text, link counterfoil.portal_link)
LANGUAGE plpgsql
AS $$
DECLARE
    invited counterfoil.portal_member;
    moment timestamptz;
    made record;
BEGIN
    -- Two invitations of one institution take turns, so that its people are counted right.
    PERFORM FROM counterfoil.institution AS i WHERE i.id = institution FOR NO KEY UPDATE;
    moment := counterfoil.clock();
    SELECT m.* INTO invited FROM counterfoil.portal_member AS m
    WHERE m.institution_id = institution AND m.email_key = portal_invite.email_key AND m.removed_at IS NULL;
    IF FOUND AND by_colleague AND invited.joined_at IS NOT NULL THEN
        outcome := 'member';
        RETURN NEXT; RETURN;
    END IF;
    -- guard: an-address-is-invited-so-often
    IF counterfoil.portal_sent_to(portal_invite.email_key, institution, interval '1 day') >= most_here THEN
        outcome := 'too_often';
    END IF;
    -- guard: an-address-is-invited-so-often-by-all
    IF counterfoil.portal_sent_to(portal_invite.email_key, NULL, interval '1 day') >= most_anywhere THEN
        outcome := 'too_often';
    END IF;
    IF outcome IS NOT NULL THEN
        RETURN NEXT; RETURN;
    END IF;
    IF invited.id IS NULL THEN
        IF (
            SELECT count(*) FROM counterfoil.portal_member AS m
            WHERE m.institution_id = institution AND m.removed_at IS NULL AND (
                m.joined_at IS NOT NULL
                OR EXISTS (
                    SELECT FROM counterfoil.portal_link AS l
                    WHERE l.member_id = m.id AND l.ends_at > moment AND l.revoked_at IS NULL
                )
            )
        ) >= most THEN
            outcome := 'too_many';
            RETURN NEXT; RETURN;
        END IF;
        INSERT INTO counterfoil.portal_member AS m (institution_id, email, email_key, name, invited_at)
        VALUES (institution, portal_invite.email, portal_invite.email_key, portal_invite.name, moment)
        RETURNING m.* INTO invited;
    END IF;
    -- What was sent to the address was counted: here nothing more is.
    SELECT f.* INTO made FROM counterfoil.portal_link_for(
        invited.id, 'invitation', portal_invite.token_hash, good_for, portal_invite.mail, NULL, good_for
    ) AS f;
    outcome := made.outcome;
    link := made.link;
    IF outcome = 'made' THEN
        PERFORM counterfoil.keep_record(
            'member.invited', counterfoil.portal_slug(invited), NULL, counterfoil.portal_person(invited)
        );
    END IF;
    RETURN NEXT;
END
$$;
