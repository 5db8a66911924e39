-- How often an address was written to within that time without having asked for it itself: invitations to it, and links
-- that prove it. Of one institution, or of all (NULL). Members that were taken out count: or whoever takes them out and
-- invites them again could do so for ever. Whoever writes to the address next waits for us.
CREATE FUNCTION counterfoil.portal_sent_to(address text, institution bigint, within interval) RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
    since timestamptz;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('counterfoil portal address ' || address, 0));
    since := counterfoil.clock() - within;
    RETURN (
        SELECT count(*) FROM counterfoil.portal_link AS l
        JOIN counterfoil.portal_member AS m ON m.id = l.member_id
        WHERE m.email_key = address AND l.kind = 'invitation' AND l.created_at > since
            AND (portal_sent_to.institution IS NULL OR m.institution_id = portal_sent_to.institution)
    ) + (
        SELECT count(*) FROM counterfoil.portal_address AS p
        JOIN counterfoil.portal_member AS m ON m.id = p.member_id
        WHERE p.email_key = address AND p.asked_at > since
            AND (portal_sent_to.institution IS NULL OR m.institution_id = portal_sent_to.institution)
    );
END
$$;
