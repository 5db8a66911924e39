-- Write down how many rows of a locked allocation occupy a place now. What was over the cap shrinks with it.
CREATE FUNCTION counterfoil.occupy(counts_with bigint, period text, change bigint)
RETURNS void
LANGUAGE sql
AS $$
    UPDATE counterfoil.allocation AS a
    SET used = a.used + occupy.change,
        excess = least(a.excess, greatest(a.used + occupy.change - a.cap, 0))
    WHERE a.code_id = occupy.counts_with AND a.period = occupy.period
$$;
