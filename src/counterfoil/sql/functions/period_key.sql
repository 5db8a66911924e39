-- The key of the period that a moment lies in, in the institution's own time zone.
--
-- periods.py says the same in Python; a property test holds the two together.
CREATE FUNCTION counterfoil.period_key(calendar text, year_start text, zone text, moment timestamptz)
RETURNS text
LANGUAGE plpgsql STABLE STRICT
AS $$
DECLARE
    local_day date := (moment AT TIME ZONE zone)::date;
    year integer := extract(year FROM local_day);
BEGIN
    CASE calendar
        WHEN 'academic_year' THEN
            IF to_char(local_day, 'MM-DD') < year_start COLLATE "C" THEN
                year := year - 1;
            END IF;
            RETURN year || '-' || lpad(((year + 1) % 100)::text, 2, '0');
        WHEN 'calendar_year' THEN
            RETURN year::text;
        WHEN 'month' THEN
            RETURN to_char(local_day, 'YYYY-MM');
        WHEN 'all' THEN
            RETURN 'all';
    END CASE;
END
$$;
