-- The key of the period that is now, for whoever looks. Between two named periods it is the next one's, after the last of
-- them the last one's, and nothing where there is none: whether anybody is let in, `consider` says.
CREATE FUNCTION counterfoil.current_period(
    counts_with bigint, calendar text, year_start text, zone text, moment timestamptz
)
RETURNS text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF calendar <> 'custom' THEN
        RETURN counterfoil.period_key(calendar, year_start, zone, moment);
    END IF;
    RETURN coalesce(
        (SELECT p.name FROM counterfoil.named_period_on(counts_with, (moment AT TIME ZONE zone)::date) AS p), ''
    );
END
$$;

-- The named period that a local day lies in; else the next one; else the last. No row: the code has none.
CREATE FUNCTION counterfoil.named_period_on(counts_with bigint, day date) RETURNS SETOF counterfoil.named_period
LANGUAGE sql STABLE
AS $$
    SELECT p.* FROM counterfoil.named_period AS p
    WHERE p.code_id = named_period_on.counts_with
    ORDER BY p.ends_on < day, abs(p.ends_on - day)
    LIMIT 1
$$;
