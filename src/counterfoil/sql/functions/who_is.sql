-- Whoever a token of the seller's pages belongs to: a row, or none. *touch*: they are at work just now.
--
-- What a key may do is looked up each time, and so is an account: whoever was disabled is out at once. A key opens the
-- pages until there are accounts; the admin key of the settings always does.
CREATE FUNCTION counterfoil.who_is(token_hash bytea, admin_key_hash bytea, idle interval, touch boolean)
RETURNS TABLE (
    session_id bigint, account_id bigint, key_id bigint, name text, email text, role text, first_password boolean,
    open_matters bigint
)
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz := counterfoil.clock();
    found_session counterfoil.account_session;
BEGIN
    SELECT s.* INTO found_session FROM counterfoil.account_session AS s
    WHERE s.token_hash = who_is.token_hash AND s.ends_at > moment AND s.last_seen_at > moment - idle;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH known AS (
        SELECT a.id, NULL::bigint, a.name, a.email, a.role, a.first_until IS NOT NULL
        FROM counterfoil.account AS a
        WHERE a.id = found_session.account_id AND a.disabled_at IS NULL
        UNION ALL
        SELECT NULL, 0, 'the admin key', NULL, 'owner', false
        WHERE found_session.key_id = 0 AND found_session.admin_key_hash = who_is.admin_key_hash
        UNION ALL
        SELECT NULL, k.id, k.name, NULL, 'staff', false
        FROM counterfoil.api_key AS k
        WHERE k.id = found_session.key_id AND k.scope = 'manage' AND k.revoked_at IS NULL
            AND NOT EXISTS (SELECT FROM counterfoil.account AS a WHERE a.disabled_at IS NULL)
    )
    SELECT
        found_session.id, known.*,
        (SELECT count(*) FROM counterfoil.attention AS m WHERE m.resolved_at IS NULL)
    FROM known;
    -- Not at each page: a minute is near enough.
    IF FOUND AND touch AND found_session.last_seen_at < moment - interval '1 minute' THEN
        UPDATE counterfoil.account_session AS s SET last_seen_at = moment WHERE s.id = found_session.id;
    END IF;
END
$$;
