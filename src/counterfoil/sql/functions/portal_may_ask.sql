-- Whether somebody at this network address may ask for one more sign-in mail: NULL, and it is counted; otherwise when.
CREATE FUNCTION counterfoil.portal_may_ask(origin text, most integer, within interval) RETURNS timestamptz
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz;
    oldest timestamptz;
    asked bigint;
BEGIN
    -- guard: asking-is-counted-in-turn
    PERFORM pg_advisory_xact_lock(hashtextextended('portal ' || origin, 0));
    moment := counterfoil.clock();
    DELETE FROM counterfoil.portal_asking AS a WHERE a.origin = portal_may_ask.origin AND a.at <= moment - within;
    SELECT count(*), min(a.at) INTO asked, oldest FROM counterfoil.portal_asking AS a
    WHERE a.origin = portal_may_ask.origin;
    IF asked >= most THEN
        RETURN oldest + within;
    END IF;
    INSERT INTO counterfoil.portal_asking (origin, at) VALUES (portal_may_ask.origin, moment);
    RETURN NULL;
END
$$;
