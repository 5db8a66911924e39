-- One more try of everything in *names*, unless one of them has been tried *most* times *within* a time: then nothing is
-- counted, and the answer is how long to wait. Zero: go on. A try is counted before it is made, so that a thousand made
-- at once are not one.
CREATE FUNCTION counterfoil.try_once(names text[], most integer, within interval) RETURNS interval
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz;
    until timestamptz;
BEGIN
    DELETE FROM counterfoil.throttle AS t WHERE t.name IN (
        SELECT o.name FROM counterfoil.throttle AS o
        WHERE o.forget_at < counterfoil.clock() AND o.name <> ALL (names) ORDER BY o.forget_at LIMIT 10 FOR UPDATE SKIP LOCKED
    );
    -- In one order, so that two tries of the same names wait for each other and never for ever.
    INSERT INTO counterfoil.throttle AS t (name, tried_at, forget_at)
    SELECT n.name, '{}', counterfoil.clock() FROM unnest(names) AS n (name) ORDER BY n.name
    ON CONFLICT (name) DO UPDATE SET name = t.name;
    -- Read once the rows are ours: whoever waited for them came after all who are counted in them.
    moment := counterfoil.clock();
    UPDATE counterfoil.throttle AS t
    SET tried_at = ARRAY(
        -- What lies ahead was written by a clock that was set back since.
        SELECT at FROM unnest(t.tried_at) AS at WHERE at > moment - within AND at <= moment ORDER BY at
    )
    WHERE t.name = ANY (names);
    SELECT max(t.tried_at[cardinality(t.tried_at) - most + 1] + within) INTO until
    FROM counterfoil.throttle AS t
    WHERE t.name = ANY (names) AND cardinality(t.tried_at) >= most;
    IF until IS NOT NULL THEN
        RETURN until - moment;
    END IF;
    UPDATE counterfoil.throttle AS t SET tried_at = t.tried_at || moment, forget_at = moment + within
    WHERE t.name = ANY (names);
    RETURN interval '0';
END
$$;
