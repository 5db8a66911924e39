-- A member says that an address is theirs: it is written to, and used for nothing until that is proved. Always one row;
-- outcome:
--   mailed      a link is on its way, and takes the place of an earlier one
--   yours       it is theirs already
--   taken       it is a colleague's
--   too_often   it was written to again and again
--   gone        the member was removed
CREATE FUNCTION counterfoil.portal_claim_address(
    member bigint,
    email text,
    email_key text,
    token_hash bytea,
    good_for interval,
    mail jsonb,
    most integer,
    most_anywhere integer
)
RETURNS TABLE (outcome text)
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz;
    whose counterfoil.portal_member;
BEGIN
    SELECT m.* INTO whose FROM counterfoil.portal_member AS m
    WHERE m.id = member AND m.removed_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        outcome := 'gone';
        RETURN NEXT; RETURN;
    END IF;
    moment := counterfoil.clock();
    outcome := CASE
        WHEN whose.email_key = portal_claim_address.email_key THEN 'yours'
        WHEN counterfoil.portal_address_taken(whose, portal_claim_address.email_key) THEN 'taken'
        WHEN counterfoil.portal_sent_to(portal_claim_address.email_key, whose.institution_id, interval '1 day') >= most
            OR counterfoil.portal_sent_to(portal_claim_address.email_key, NULL, interval '1 day') >= most_anywhere
            THEN 'too_often'
        ELSE 'mailed'
    END;
    IF outcome = 'mailed' THEN
        UPDATE counterfoil.portal_address AS p SET revoked_at = moment
        WHERE p.member_id = member AND p.proved_at IS NULL AND p.revoked_at IS NULL;
        INSERT INTO counterfoil.portal_address AS p (member_id, email, email_key, token_hash, asked_at, ends_at)
        VALUES (
            member, portal_claim_address.email, portal_claim_address.email_key, portal_claim_address.token_hash,
            moment, moment + good_for
        );
        PERFORM counterfoil.write_mail(portal_claim_address.mail, moment + good_for, moment);
    END IF;
    RETURN NEXT;
END
$$;

-- Whether an address is another member's of the same institution.
CREATE FUNCTION counterfoil.portal_address_taken(of counterfoil.portal_member, address text) RETURNS boolean
LANGUAGE sql
AS $$
    SELECT EXISTS (
        SELECT FROM counterfoil.portal_member AS other
        WHERE other.institution_id = of.institution_id AND other.email_key = address
            AND other.removed_at IS NULL AND other.id <> of.id
    )
$$;
