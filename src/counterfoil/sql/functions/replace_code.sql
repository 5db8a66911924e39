-- Put another code in the place of one: the old lets nobody in from now on, and the new has all its terms and counts
-- where it counted. Always one row; outcome:
--   replaced         `code` is the new one
--   replaced_before  the code has been replaced: `code` is the one in force
--   unknown          there is no such code
--
-- No place is decided here, so no allocation is locked. Whoever waits for a place with the old code looks at it again
-- under the allocation's lock (reserve.sql). Redemptions stay those of the code that they were made with.
CREATE FUNCTION counterfoil.replace_code(old text, code text, folded text)
RETURNS TABLE (outcome text, successor counterfoil.code)
LANGUAGE plpgsql
AS $$
DECLARE
    leaked counterfoil.code;
    moment timestamptz := counterfoil.clock();
BEGIN
    SELECT c.* INTO leaked FROM counterfoil.code AS c WHERE c.folded = old FOR NO KEY UPDATE;
    IF leaked.id IS NULL THEN
        outcome := 'unknown';
        RETURN NEXT; RETURN;
    END IF;
    -- guard: replaced-once
    IF leaked.replaced_by IS NOT NULL THEN
        outcome := 'replaced_before';
        SELECT c.* INTO successor FROM counterfoil.code AS c WHERE c.id = leaked.replaced_by;
        RETURN NEXT; RETURN;
    END IF;
    -- Whatever terms a code has, also those of later tables, are the new one's too.
    successor := leaked;
    successor.id := nextval(pg_get_serial_sequence('counterfoil.code', 'id'));
    successor.code := replace_code.code;
    successor.folded := replace_code.folded;
    successor.counts_with := coalesce(leaked.counts_with, leaked.id);
    successor.paused_at := NULL;
    successor.batch_id := NULL;
    successor.version := 1;
    successor.created_at := moment;
    INSERT INTO counterfoil.code OVERRIDING SYSTEM VALUE SELECT successor.*;
    UPDATE counterfoil.code AS c
    SET replaced_by = successor.id, paused_at = coalesce(c.paused_at, moment), version = c.version + 1
    WHERE c.id = leaked.id;
    -- What led to the old leads to the new.
    UPDATE counterfoil.code AS c SET replaced_by = successor.id WHERE c.replaced_by = leaked.id;
    PERFORM counterfoil.keep_record(
        'code.replaced', leaked.code, jsonb_build_object('code', leaked.code),
        jsonb_build_object('code', successor.code)
    );
    outcome := 'replaced';
    RETURN NEXT;
END
$$;

-- The code that is in force where an allocation's own was replaced: the one to name to people.
CREATE FUNCTION counterfoil.in_force(of counterfoil.code) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT coalesce((SELECT c.code FROM counterfoil.code AS c WHERE c.id = of.replaced_by), of.code)
$$;
