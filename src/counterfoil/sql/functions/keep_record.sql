-- Who acts in this transaction, as whoever runs the statement says it. Whoever says nothing is the database's own user:
-- a person at psql, or a program that embeds the library.
CREATE FUNCTION counterfoil.actor() RETURNS jsonb
LANGUAGE sql STABLE
AS $$
    SELECT coalesce(
        -- Once it was set in a session, it is empty there ever after, and not missing.
        nullif(current_setting('counterfoil.actor', true), '')::jsonb,
        jsonb_build_object('kind', 'database', 'name', session_user)
    )
$$;

-- Write down what somebody did, in the transaction that does it. *by*: whom only the function that decides knows.
CREATE FUNCTION counterfoil.keep_record(
    action text, subject text, before jsonb, after jsonb, by jsonb DEFAULT NULL
) RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO counterfoil.audit (at, actor_kind, actor_id, actor_name, action, subject, before, after)
    SELECT
        counterfoil.clock(), a.actor ->> 'kind', a.actor ->> 'id', a.actor ->> 'name',
        keep_record.action, keep_record.subject, keep_record.before, keep_record.after
    FROM (SELECT coalesce(keep_record.by, counterfoil.actor()) AS actor) AS a
$$;
