-- The trigger of the tables that people write to: what a row was, and what it is, without secrets and without what did
-- not change. Its arguments: what a row is called, and the column it is known by.
--
-- A trigger's function cannot be dropped and made anew as the others are: it is replaced.
CREATE OR REPLACE FUNCTION counterfoil.keep_change() RETURNS trigger
LANGUAGE plpgsql
AS $$
DECLARE
    was jsonb := counterfoil.without_secrets(to_jsonb(OLD));
    became jsonb := counterfoil.without_secrets(to_jsonb(NEW));
    known_by text := coalesce(to_jsonb(NEW), to_jsonb(OLD)) ->> TG_ARGV[1];
    before jsonb := was;
    after jsonb := became;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        -- A secret that was replaced is hidden in both, and is a change all the same.
        SELECT jsonb_object_agg(o.key, was -> o.key), jsonb_object_agg(o.key, became -> o.key)
        INTO before, after
        FROM jsonb_each(to_jsonb(OLD)) AS o
        WHERE o.value IS DISTINCT FROM to_jsonb(NEW) -> o.key AND o.key <> 'version';
        IF before IS NULL THEN
            RETURN NULL;
        END IF;
    END IF;
    PERFORM counterfoil.keep_record(
        TG_ARGV[0] || CASE TG_OP WHEN 'INSERT' THEN '.added' WHEN 'UPDATE' THEN '.changed' ELSE '.removed' END,
        known_by, before, after
    );
    RETURN NULL;
END
$$;

-- A row as it may be shown: of a secret, only whether there is one.
CREATE FUNCTION counterfoil.without_secrets(of jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE
AS $$
    SELECT of || coalesce(
        (
            SELECT jsonb_object_agg(o.key, '(hidden)')
            FROM jsonb_each(of) AS o
            WHERE o.key IN ('secret', 'secret_hash', 'password_hash') AND o.value <> 'null'
        ),
        '{}'
    )
$$;

-- The trigger of the log itself.
CREATE OR REPLACE FUNCTION counterfoil.must_only_grow() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE EXCEPTION 'the audit log only grows: % is refused', TG_OP
        USING ERRCODE = 'insufficient_privilege', HINT = 'What was wrong is put right by what is done next.';
END
$$;
