-- The rows that a session belongs to, and whether it may move them. Always one row; no ids in it: nothing of ours.
--
-- The ids given are those in the session's metadata; where they are missing, the session's own id finds the row.
CREATE FUNCTION counterfoil.rows_of_session(
    session_id text,
    counts_with bigint,
    redemption uuid,
    checkout uuid,
    attempt integer,
    recovered_from text
)
RETURNS TABLE (claim counterfoil.redemption, sale counterfoil.checkout, known boolean)
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    SELECT c.* INTO sale FROM counterfoil.checkout AS c
    WHERE c.counts_with = rows_of_session.counts_with AND c.id = rows_of_session.checkout;
    IF NOT FOUND THEN
        SELECT c.* INTO sale FROM counterfoil.checkout AS c WHERE c.session_id = rows_of_session.session_id;
    END IF;
    SELECT r.* INTO claim FROM counterfoil.redemption AS r
    WHERE r.counts_with = coalesce(sale.counts_with, rows_of_session.counts_with)
        AND r.id = coalesce(sale.redemption_id, rows_of_session.redemption);
    IF NOT FOUND THEN
        SELECT r.* INTO claim FROM counterfoil.redemption AS r
        WHERE r.session_id = rows_of_session.session_id
            OR (r.former_sessions @> ARRAY[rows_of_session.session_id] AND r.former_sessions <> '{}');
        IF FOUND AND sale.id IS NULL THEN
            SELECT c.* INTO sale FROM counterfoil.checkout AS c
            WHERE c.counts_with = claim.counts_with AND c.redemption_id = claim.id;
        END IF;
    END IF;

    -- A row is moved only through a session that it has or had, or that its own attempt made and a crash kept from
    -- being attached. A copy of a session (`recovered_from`) is none of these, whatever its metadata says.
    known := coalesce(recovered_from IS NULL AND CASE
        WHEN claim.id IS NOT NULL THEN
            rows_of_session.session_id = claim.session_id
            OR rows_of_session.session_id = ANY (claim.former_sessions)
            OR (claim.session_id IS NULL AND claim.attempt = rows_of_session.attempt)
        WHEN sale.id IS NOT NULL THEN
            coalesce(sale.session_id, rows_of_session.session_id) = rows_of_session.session_id
    END, false);
    RETURN NEXT;
END
$$;
