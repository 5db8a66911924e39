-- The first and the last local day of a period, both within it. Of `all`, which has no bounds, nulls; no row: this is no
-- period of the calendar.
--
-- periods.py says the same in Python, of all but the named ones; a property test holds the two together.
CREATE FUNCTION counterfoil.period_days(counts_with bigint, calendar text, year_start text, period text)
RETURNS TABLE (starts_on date, ends_on date)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    year integer := substring(period_days.period FROM '^(?!0000)([0-9]{4})(?:-[0-9]{2})?$');
    part integer := substring(period_days.period FROM '^[0-9]{4}-([0-9]{2})$');
BEGIN
    CASE calendar
        WHEN 'academic_year' THEN
            IF part = (year + 1) % 100 THEN
                starts_on := make_date(year, left(year_start, 2)::integer, right(year_start, 2)::integer);
                ends_on := (starts_on + interval '1 year')::date - 1;
            END IF;
        WHEN 'calendar_year' THEN
            IF part IS NULL AND year IS NOT NULL THEN
                starts_on := make_date(year, 1, 1);
                ends_on := make_date(year, 12, 31);
            END IF;
        WHEN 'month' THEN
            IF part BETWEEN 1 AND 12 AND year IS NOT NULL THEN
                starts_on := make_date(year, part, 1);
                ends_on := (starts_on + interval '1 month')::date - 1;
            END IF;
        WHEN 'custom' THEN
            SELECT p.starts_on, p.ends_on INTO starts_on, ends_on
            FROM counterfoil.named_period AS p
            WHERE p.code_id = period_days.counts_with AND p.name = period_days.period;
        WHEN 'all' THEN
            NULL;
    END CASE;
    IF starts_on IS NOT NULL OR (calendar = 'all' AND period_days.period = 'all') THEN
        -- The last day that programs can write.
        IF ends_on > date '9999-12-31' THEN
            ends_on := date '9999-12-31';
        END IF;
        RETURN NEXT;
    END IF;
END
$$;

-- The days of a period as they are told. What is over keeps the days that it had, whatever the calendar has become since;
-- the period that is now began when it began, and ends by the calendar as it is.
CREATE FUNCTION counterfoil.days_told(
    gate counterfoil.allocation, counts_with bigint, calendar text, year_start text, period text, current text
)
RETURNS TABLE (starts_on date, ends_on date)
LANGUAGE sql STABLE
AS $$
    SELECT
        CASE
            WHEN days_told.period > current COLLATE "C" THEN coalesce(days.starts_on, gate.starts_on)
            WHEN days_told.period = current THEN least(gate.starts_on, days.starts_on)
            ELSE coalesce(gate.starts_on, days.starts_on)
        END,
        CASE
            WHEN days_told.period >= current COLLATE "C" THEN coalesce(days.ends_on, gate.ends_on)
            ELSE coalesce(gate.ends_on, days.ends_on)
        END
    FROM (SELECT 1) AS always
    LEFT JOIN counterfoil.period_days(
        days_told.counts_with, days_told.calendar, days_told.year_start, days_told.period
    ) AS days ON true
$$;
