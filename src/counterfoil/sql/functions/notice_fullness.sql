-- Tell an institution how full its allocation has become: four fifths, its own threshold, all of it. Of several that are
-- reached at once the highest alone, and each once for a cap. The allocation's lock is held by the caller; `used` and
-- `cap` are what they were before.
--
-- What counts is what is truly taken: `used` has lapsed holds in it, which are free. So it is looked at whenever the
-- counter comes to another percent, and at each step once it is at the cap, where lapsed places are given anew.
CREATE FUNCTION counterfoil.notice_fullness(gate counterfoil.allocation, used bigint, cap bigint) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    school record;
    room record;
    percent integer;
BEGIN
    IF gate.cap IS NULL OR gate.cap = 0 THEN
        RETURN;
    END IF;
    IF gate.used < gate.cap AND gate.cap IS NOT DISTINCT FROM cap AND gate.used * 100 / gate.cap = used * 100 / gate.cap
    THEN
        RETURN;
    END IF;
    FOR school IN
        SELECT DISTINCT i.id, i.alert_on, i.alert_percent
        FROM counterfoil.code AS c
        JOIN counterfoil.institution AS i ON i.id = c.institution_id
        WHERE c.id = gate.code_id OR c.counts_with = gate.code_id
    LOOP
        CONTINUE WHEN gate.used * 100 / gate.cap < least(80, CASE WHEN school.alert_on THEN school.alert_percent END);
        IF room IS NULL THEN
            SELECT r.held, (r.used - r.lapsed) * 100 / r.cap AS percent INTO room
            FROM counterfoil.room(gate.code_id, gate.period, (SELECT counterfoil.clock())) AS r;
        END IF;
        percent := CASE
            WHEN room.percent >= 100 THEN 100
            WHEN school.alert_on AND room.percent >= school.alert_percent
                AND (school.alert_percent > 80 OR room.percent < 80) THEN school.alert_percent
            WHEN room.percent >= 80 THEN 80
        END;
        CONTINUE WHEN percent IS NULL;
        PERFORM counterfoil.write_notice(
            school.id, gate,
            CASE
                WHEN percent = 100 AND room.held > 0 THEN 'held'
                WHEN percent = 100 THEN 'full'
                WHEN percent = 80 THEN 'threshold'
                ELSE 'alert'
            END,
            percent
        );
    END LOOP;
END
$$;

-- The institution's own code of an allocation: where several codes share one, nobody is told another's.
CREATE FUNCTION counterfoil.own_code(institution bigint, counts_with bigint) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT c.code FROM counterfoil.code AS c
    WHERE c.institution_id = institution AND (c.id = own_code.counts_with OR c.counts_with = own_code.counts_with)
    ORDER BY c.replaced_by IS NOT NULL, c.id = own_code.counts_with DESC, c.id
    LIMIT 1
$$;

-- Write a notice down, unless it was given before.
CREATE FUNCTION counterfoil.write_notice(
    institution bigint, gate counterfoil.allocation, kind text, percent integer
)
RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO counterfoil.portal_notice (
        institution_id, code_id, period, kind, percent, reached, usage, made_at, watched
    )
    SELECT
        institution, gate.code_id, gate.period, write_notice.kind, write_notice.percent, gate.cap,
        counterfoil.usage_document(gate)
        || jsonb_build_object('code', counterfoil.own_code(institution, gate.code_id)),
        counterfoil.clock(), write_notice.kind = 'held'
    WHERE NOT EXISTS (
        SELECT FROM counterfoil.portal_notice AS n
        WHERE n.institution_id = institution AND n.code_id = gate.code_id AND n.period = gate.period
            AND n.kind = write_notice.kind AND n.percent = write_notice.percent AND n.reached = gate.cap
    )
    ON CONFLICT ON CONSTRAINT a_notice_is_given_once DO NOTHING
$$;

-- Allocations that holds had filled, and that are paid for since. Whoever pays for the last place holds no lock of the
-- allocation, and must wait for nobody: so this is looked for afterwards.
CREATE FUNCTION counterfoil.notice_spent() RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    gate counterfoil.allocation;
    told counterfoil.portal_notice;
BEGIN
    FOR told IN SELECT n.* FROM counterfoil.portal_notice AS n WHERE n.watched LOOP
        SELECT a.* INTO gate FROM counterfoil.allocation AS a
        WHERE a.code_id = told.code_id AND a.period = told.period;
        IF gate.cap IS DISTINCT FROM told.reached THEN
            -- A higher cap begins anew; at a lower one, more was told then.
            UPDATE counterfoil.portal_notice AS n SET watched = false WHERE n.id = told.id;
        ELSIF gate.used >= gate.cap AND gate.used - (
            SELECT count(*) FROM counterfoil.redemption AS r
            WHERE r.counts_with = gate.code_id AND r.period = gate.period AND r.status = 'reserved'
        ) >= gate.cap THEN
            PERFORM counterfoil.write_notice(told.institution_id, gate, 'full', 100);
            UPDATE counterfoil.portal_notice AS n SET watched = false WHERE n.id = told.id;
        END IF;
    END LOOP;
END
$$;

-- Years, and named periods that are longer than twice that time, which end within it with places unused. A month or a
-- calendar without an end has no such notice.
CREATE FUNCTION counterfoil.notice_year_ends(within interval) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz := counterfoil.clock();
    ending record;
    gate counterfoil.allocation;
BEGIN
    FOR ending IN
        SELECT
            pool.id, coalesce(a.cap, CASE WHEN a.code_id IS NULL THEN pool.cap END) AS cap, now.period,
            coalesce(a.used, 0) AS used, now.zone
        FROM counterfoil.code AS pool
        JOIN counterfoil.institution AS keeper ON keeper.id = pool.institution_id
        CROSS JOIN LATERAL (
            SELECT
                counterfoil.current_period(
                    pool.id, pool.calendar, keeper.year_start, keeper.time_zone, moment
                ) AS period,
                (moment AT TIME ZONE keeper.time_zone)::date AS day,
                ((moment + within) AT TIME ZONE keeper.time_zone)::date AS soon,
                keeper.time_zone AS zone
            OFFSET 0
        ) AS now
        CROSS JOIN LATERAL counterfoil.period_days(pool.id, pool.calendar, keeper.year_start, now.period) AS days
        LEFT JOIN counterfoil.allocation AS a ON a.code_id = pool.id AND a.period = now.period
        WHERE pool.counts_with IS NULL AND pool.calendar IN ('academic_year', 'calendar_year', 'custom')
            AND now.day BETWEEN days.starts_on AND days.ends_on AND days.ends_on < now.soon
            AND (pool.calendar <> 'custom' OR days.starts_on + 2 * within < days.ends_on)
            AND NOT EXISTS (
                SELECT FROM counterfoil.portal_notice AS n
                WHERE n.code_id = pool.id AND n.period = now.period AND n.kind = 'year_end'
            )
            -- Somebody can still use them.
            AND EXISTS (
                SELECT FROM counterfoil.code AS c
                WHERE (c.id = pool.id OR c.counts_with = pool.id) AND c.paused_at IS NULL
                    AND (c.ends_on IS NULL OR c.ends_on >= (moment AT TIME ZONE keeper.time_zone)::date)
            )
    LOOP
        CONTINUE WHEN ending.cap IS NULL OR ending.cap <= ending.used - (
            SELECT count(*) FROM counterfoil.redemption AS r
            WHERE r.counts_with = ending.id AND r.period = ending.period AND r.status = 'reserved'
                AND r.expires_at <= moment
        );
        -- An allocation that nobody ever needed has no row: it is read as if it had.
        gate := NULL;
        SELECT a.* INTO gate FROM counterfoil.allocation AS a
        WHERE a.code_id = ending.id AND a.period = ending.period;
        gate.code_id := ending.id;
        gate.period := ending.period;
        gate.cap := ending.cap;
        INSERT INTO counterfoil.portal_notice (institution_id, code_id, period, kind, percent, reached, usage, made_at)
        SELECT DISTINCT
            c.institution_id, ending.id, ending.period, 'year_end', 100, 0,
            coalesce(
                counterfoil.usage_document(gate),
                jsonb_build_object(
                    'period', ending.period, 'cap', ending.cap, 'completed', 0, 'pending', 0, 'held', 0,
                    'next_release_at', NULL, 'note', NULL
                )
            ) || jsonb_build_object('code', counterfoil.own_code(c.institution_id, ending.id)),
            moment
        FROM counterfoil.code AS c
        WHERE c.id = ending.id OR c.counts_with = ending.id
        ON CONFLICT ON CONSTRAINT a_notice_is_given_once DO NOTHING;
    END LOOP;
END
$$;
