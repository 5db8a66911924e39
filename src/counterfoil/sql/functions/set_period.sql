-- Give a code a period with a name and days, or give the one of this name other days. Always one row; outcome:
--   added, changed    it is as asked
--   same              it was so already
--   overlaps          `other` has some of the days
--   reads_the_same    `other` has a name that reads the same
--   shared            the code counts with another: its periods are that one's
CREATE FUNCTION counterfoil.set_period(code bigint, name text, folded text, starts_on date, ends_on date)
RETURNS TABLE (outcome text, other counterfoil.named_period)
LANGUAGE plpgsql
AS $$
DECLARE
    whose counterfoil.code;
    was counterfoil.named_period;
    became counterfoil.named_period;
BEGIN
    -- One at a time for each code, so that what is looked for is all there is.
    SELECT c.* INTO whose FROM counterfoil.code AS c WHERE c.id = set_period.code FOR NO KEY UPDATE;
    SELECT p.* INTO was FROM counterfoil.named_period AS p WHERE p.code_id = whose.id AND p.name = set_period.name;
    SELECT p.* INTO other FROM counterfoil.named_period AS p
    WHERE p.code_id = whose.id AND p.name <> set_period.name AND p.folded = set_period.folded;
    IF whose.counts_with IS NOT NULL THEN
        outcome := 'shared';
    ELSIF other.name IS NOT NULL THEN
        outcome := 'reads_the_same';
    ELSIF (was.starts_on, was.ends_on) = (set_period.starts_on, set_period.ends_on) THEN
        outcome := 'same';
    ELSE
        SELECT p.* INTO other FROM counterfoil.named_period AS p
        WHERE p.code_id = whose.id AND p.name <> set_period.name
            AND p.starts_on <= set_period.ends_on AND p.ends_on >= set_period.starts_on
        ORDER BY p.starts_on
        LIMIT 1;
        outcome := CASE
            WHEN other.name IS NOT NULL THEN 'overlaps'
            WHEN was.name IS NULL THEN 'added'
            ELSE 'changed'
        END;
    END IF;
    IF outcome IN ('added', 'changed') THEN
        INSERT INTO counterfoil.named_period AS p (code_id, name, folded, starts_on, ends_on)
        VALUES (whose.id, set_period.name, set_period.folded, set_period.starts_on, set_period.ends_on)
        ON CONFLICT ON CONSTRAINT named_period_pkey DO UPDATE
        SET starts_on = excluded.starts_on, ends_on = excluded.ends_on
        RETURNING p.* INTO became;
        -- It is this very period that has other days now.
        UPDATE counterfoil.allocation AS a SET starts_on = became.starts_on, ends_on = became.ends_on
        WHERE a.code_id = whose.id AND a.period = became.name;
        PERFORM counterfoil.keep_record(
            'period.' || outcome, whose.code || ' ' || became.name,
            CASE WHEN was.name IS NOT NULL THEN counterfoil.days_document(was) END, counterfoil.days_document(became)
        );
    END IF;
    RETURN NEXT;
END
$$;

-- Take a period away from a code. Always one row; outcome:
--   removed
--   in_use       it has an allocation: places of it were wanted, or its cap was set
--   not_found
CREATE FUNCTION counterfoil.remove_period(code bigint, name text) RETURNS TABLE (outcome text)
LANGUAGE plpgsql
AS $$
DECLARE
    was counterfoil.named_period;
BEGIN
    BEGIN
        -- Whoever makes its allocation meanwhile has its row locked: that is waited for, and looked at afterwards.
        DELETE FROM counterfoil.named_period AS p
        WHERE p.code_id = remove_period.code AND p.name = remove_period.name
        RETURNING p.* INTO was;
        outcome := CASE WHEN was.name IS NULL THEN 'not_found' ELSE 'removed' END;
        -- guard: a-period-in-use-stays
        IF EXISTS (SELECT FROM counterfoil.allocation AS a WHERE a.code_id = was.code_id AND a.period = was.name) THEN
            outcome := 'in_use';
            RAISE EXCEPTION 'it is refused' USING ERRCODE = 'CF001';
        END IF;
        IF outcome = 'removed' THEN
            PERFORM counterfoil.keep_record(
                'period.removed', c.code || ' ' || was.name, counterfoil.days_document(was), NULL
            )
            FROM counterfoil.code AS c WHERE c.id = was.code_id;
        END IF;
    EXCEPTION WHEN SQLSTATE 'CF001' THEN
        NULL;
    END;
    RETURN NEXT;
END
$$;

CREATE FUNCTION counterfoil.days_document(of counterfoil.named_period) RETURNS jsonb
LANGUAGE sql IMMUTABLE
AS $$
    SELECT jsonb_build_object('starts_on', of.starts_on, 'ends_on', of.ends_on)
$$;
