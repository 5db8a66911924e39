-- An institution wants more places of a code's current period: put before the seller, and mailed to them, though not more
-- than once in an hour. Always one row; outcome: asked, no_cap, not_found. Of a code that
-- has no period yet there is nothing to ask for: no_cap.
CREATE FUNCTION counterfoil.ask_for_places(
    institution bigint, code text, member bigint, more bigint, reason text, mail jsonb
)
RETURNS TABLE (outcome text)
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz := counterfoil.clock();
    wanted record;
    before timestamptz;
BEGIN
    SELECT
        c.id, c.code, pool.id AS counts_with, school.slug, school.name,
        counterfoil.current_period(pool.id, pool.calendar, keeper.year_start, keeper.time_zone, moment) AS period,
        pool.cap
    INTO wanted
    FROM counterfoil.code AS c
    JOIN counterfoil.institution AS school ON school.id = c.institution_id
    JOIN counterfoil.code AS pool ON pool.id = coalesce(c.counts_with, c.id)
    JOIN counterfoil.institution AS keeper ON keeper.id = pool.institution_id
    WHERE c.folded = ask_for_places.code AND c.institution_id = institution;
    IF NOT FOUND THEN
        outcome := 'not_found';
        RETURN NEXT; RETURN;
    END IF;
    SELECT CASE WHEN a.code_id IS NULL THEN wanted.cap ELSE a.cap END INTO wanted.cap
    FROM (SELECT 1) AS always
    LEFT JOIN counterfoil.allocation AS a ON a.code_id = wanted.counts_with AND a.period = wanted.period;
    IF wanted.cap IS NULL OR wanted.period = '' THEN
        outcome := 'no_cap';
        RETURN NEXT; RETURN;
    END IF;
    SELECT r.asked_at INTO before FROM counterfoil.places_request AS r
    WHERE r.institution_id = institution AND r.counts_with = wanted.counts_with AND r.period = wanted.period
        AND r.cap = wanted.cap;
    INSERT INTO counterfoil.places_request AS r (
        institution_id, code_id, counts_with, period, cap, more, reason, asked_by, asked_at
    ) VALUES (
        institution, wanted.id, wanted.counts_with, wanted.period, wanted.cap, ask_for_places.more,
        ask_for_places.reason, member, moment
    )
    ON CONFLICT ON CONSTRAINT a_request_is_of_one_cap DO UPDATE
    SET more = excluded.more, reason = excluded.reason, asked_by = excluded.asked_by, asked_at = excluded.asked_at,
        code_id = excluded.code_id;
    PERFORM counterfoil.raise_attention(
        'more-places-wanted', wanted.slug || '/' || wanted.code || '/' || wanted.period,
        jsonb_build_object(
            'institution', wanted.name, 'code', wanted.code, 'period', wanted.period, 'cap', wanted.cap,
            'more', ask_for_places.more, 'reason', coalesce(nullif(ask_for_places.reason, ''), 'none was given'),
            'asked', to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')
        )
    );
    IF before IS NULL OR before < moment - interval '1 hour' THEN
        PERFORM counterfoil.write_mail(ask_for_places.mail, NULL, moment);
    END IF;
    outcome := 'asked';
    RETURN NEXT;
END
$$;
