-- Periods with names and days of their own, and the days that a period had when its allocation was made.

-- One more calendar is allowed: nothing that was true before is false after, and the table is small.
-- squawk-ignore ban-drop-constraint
ALTER TABLE counterfoil.code DROP CONSTRAINT a_calendar_is_known;
-- squawk-ignore constraint-missing-not-valid
ALTER TABLE counterfoil.code ADD CONSTRAINT a_calendar_is_known
    CHECK (calendar IN ('academic_year', 'calendar_year', 'month', 'all', 'custom'));

-- The periods of a code whose calendar is `custom`: local days of its institution, both included whole. `code_id` is the
-- code whose allocations count.
CREATE TABLE counterfoil.named_period (
    code_id     bigint NOT NULL REFERENCES counterfoil.code (id),
    name        text NOT NULL,
    folded      text NOT NULL,
    starts_on   date NOT NULL,
    ends_on     date NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT statement_timestamp(),
    PRIMARY KEY (code_id, name),
    CONSTRAINT a_period_is_named_once UNIQUE (code_id, folded),
    CONSTRAINT a_period_ends_after_it_starts CHECK (starts_on <= ends_on),
    -- As boxes, one code wide and its days high: for those no extension is needed.
    CONSTRAINT periods_of_a_code_do_not_overlap EXCLUDE USING gist (
        box(
            point(code_id::float8, (starts_on - date '2000-01-01')::float8),
            point(code_id::float8, (ends_on - date '2000-01-01')::float8)
        ) WITH &&
    )
);

CREATE INDEX named_period_in_time ON counterfoil.named_period (code_id, ends_on);

-- What a period was then is not changed by what the calendar, the zone or the start of the year become. Empty where it
-- has no bounds.
ALTER TABLE counterfoil.allocation ADD COLUMN starts_on date, ADD COLUMN ends_on date;

-- Of those that were made before: by the calendars, which could not be changed until now.
UPDATE counterfoil.allocation AS a
SET starts_on = days.starts_on, ends_on = least(days.following - 1, date '9999-12-31')
FROM counterfoil.allocation AS was
JOIN counterfoil.code AS c ON c.id = was.code_id
JOIN counterfoil.institution AS i ON i.id = c.institution_id
CROSS JOIN LATERAL (
    SELECT left(was.period, 4)::integer AS year, right(was.period, 2)::integer AS part
    WHERE was.period ~ '^[0-9]{4}(-[0-9]{2})?$'
) AS key
CROSS JOIN LATERAL (
    SELECT
        make_date(key.year, left(i.year_start, 2)::integer, right(i.year_start, 2)::integer) AS starts_on,
        make_date(key.year + 1, left(i.year_start, 2)::integer, right(i.year_start, 2)::integer) AS following
    WHERE c.calendar = 'academic_year'
    UNION ALL
    SELECT make_date(key.year, 1, 1), make_date(key.year + 1, 1, 1) WHERE c.calendar = 'calendar_year'
    UNION ALL
    SELECT make_date(key.year, key.part, 1), (make_date(key.year, key.part, 1) + interval '1 month')::date
    WHERE c.calendar = 'month' AND key.part BETWEEN 1 AND 12
) AS days
WHERE a.code_id = was.code_id AND a.period = was.period AND key.year > 0;
