-- Change an account; what is NULL stays as it is. Always one row; outcome:
--   changed
--   last_owner   nobody could let anybody in afterwards: nothing was changed
--   moved        its name or its role is no longer `was`, where that is given: nothing was changed
--   not_found
--
-- A new password ends the account's sessions, but the one it was changed in; so does being disabled.
CREATE FUNCTION counterfoil.change_account(
    id bigint,
    name text,
    role text,
    password_hash text,
    first_for interval,
    disabled boolean,
    but_session bigint,
    was text[] DEFAULT NULL
)
RETURNS TABLE (outcome text)
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz := counterfoil.clock();
    owners bigint[];
    known counterfoil.account;
BEGIN
    -- Locked, in one order: so that the last two owners do not undo each other at the same time.
    SELECT array_agg(o.id) INTO owners FROM (
        SELECT a.id FROM counterfoil.account AS a
        WHERE a.role = 'owner' AND a.disabled_at IS NULL ORDER BY a.id FOR UPDATE
    ) AS o;
    SELECT a.* INTO known FROM counterfoil.account AS a WHERE a.id = change_account.id FOR UPDATE;
    outcome := CASE
        WHEN known.id IS NULL THEN 'not_found'
        -- guard: nobodys-role-is-given-back-unseen
        WHEN was <> ARRAY[known.name, known.role] THEN 'moved'
        WHEN owners = ARRAY[known.id] AND (disabled OR change_account.role <> 'owner') THEN 'last_owner'
        ELSE 'changed'
    END;
    IF outcome = 'changed' THEN
        UPDATE counterfoil.account AS a
        SET name = coalesce(change_account.name, a.name),
            role = coalesce(change_account.role, a.role),
            password_hash = coalesce(change_account.password_hash, a.password_hash),
            first_until = CASE
                WHEN change_account.password_hash IS NULL THEN a.first_until ELSE moment + first_for
            END,
            disabled_at = CASE disabled WHEN true THEN coalesce(a.disabled_at, moment) WHEN false THEN NULL ELSE a.disabled_at END
        WHERE a.id = known.id;
        IF disabled OR change_account.password_hash IS NOT NULL THEN
            UPDATE counterfoil.account_session AS s SET ends_at = moment
            WHERE s.account_id = known.id AND s.ends_at > moment AND s.id IS DISTINCT FROM but_session;
        END IF;
    END IF;
    RETURN NEXT;
END
$$;
