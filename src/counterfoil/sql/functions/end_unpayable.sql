-- End a full-price checkout that has no session, so that nobody can pay it.
CREATE FUNCTION counterfoil.end_unpayable(counts_with bigint, checkout uuid, status text) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    sale counterfoil.checkout;
BEGIN
    UPDATE counterfoil.checkout AS c SET status = end_unpayable.status
    WHERE c.counts_with = end_unpayable.counts_with AND c.id = end_unpayable.checkout
        AND c.status = 'open' AND c.session_id IS NULL
    RETURNING c.* INTO sale;
    IF FOUND THEN
        PERFORM counterfoil.announce_checkout(sale);
    END IF;
END
$$;
