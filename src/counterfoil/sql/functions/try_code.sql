-- One try of a code on a public page, before anything else is made of it. Always one row:
--   wait        null, or how long nobody from this address may try a code, right or wrong; nothing is counted then
--   recognised  it may be named: all else that is to be said of it is said to everybody
--   reason      why not, for the log: what `consider` says; `guessing` if it must wait
--   known_as    the code as it is stored, if there is one
--   document    the code, if it is recognised
--
-- It is decided and counted in one step, under the lock of the address: many tries at once are as many as one by one. A
-- wrong code counts once, however often it is typed, so a class that was given a wrong one counts as one; a right code
-- never counts. A right code is looked up, written down and committed just as a wrong one is.
CREATE FUNCTION counterfoil.try_code(
    code text,
    product text,
    digest text,
    origin text,
    most integer,
    alert integer,
    pause interval,
    within interval,
    mail jsonb,
    lock_timeout interval
)
RETURNS TABLE (
    wait interval, recognised boolean, reason text, known_as text, document jsonb, moment timestamptz
)
LANGUAGE plpgsql
AS $$
DECLARE
    last counterfoil.burst;
    until timestamptz;
    everybody bigint;
BEGIN
    PERFORM counterfoil.must_be_read_committed();
    PERFORM counterfoil.wait_at_most(lock_timeout);
    -- guard: tries-of-an-address-come-one-by-one
    PERFORM pg_advisory_xact_lock(hashtextextended('counterfoil guess ' || origin, 0));
    -- Read once the lock is ours: whoever waited for it came after all who are counted.
    moment := counterfoil.clock();
    recognised := false;

    SELECT b.* INTO last FROM counterfoil.burst AS b;
    -- What lies ahead was written by a clock that was set back since.
    IF pause > interval '0' AND last.noticed_at <= moment AND last.wait_until > moment THEN
        until := last.wait_until;
    END IF;
    SELECT greatest(until, g.tried_at + within) INTO until
    FROM (SELECT 1) AS always
    LEFT JOIN LATERAL (
        SELECT o.tried_at FROM counterfoil.guess AS o
        WHERE o.origin = try_code.origin AND o.wrong AND o.tried_at > moment - within AND o.tried_at <= moment
            AND most > 0 AND o.origin <> ''
        ORDER BY o.tried_at DESC
        OFFSET greatest(most, 1) - 1 LIMIT 1
    ) AS g ON true;
    -- guard: whoever-guessed-too-often-waits
    IF until IS NOT NULL THEN
        wait := until - moment;
        reason := 'guessing';
        RETURN NEXT; RETURN;
    END IF;

    reason := (SELECT c.outcome FROM counterfoil.consider(try_code.code, NULL, try_code.product, NULL, moment) AS c);
    -- guard: a-paused-code-is-as-wrong-as-an-unknown-one
    recognised := reason IS NULL OR reason NOT IN ('unknown', 'paused');
    SELECT c.code, CASE WHEN recognised THEN counterfoil.code_document(c) END INTO known_as, document
    FROM counterfoil.code AS c
    WHERE c.folded = try_code.code;
    INSERT INTO counterfoil.guess AS g (origin, code, wrong, tried_at)
    VALUES (try_code.origin, digest, NOT recognised, moment)
    ON CONFLICT ON CONSTRAINT guess_pkey DO UPDATE
    SET wrong = excluded.wrong,
        tried_at = CASE
            WHEN g.wrong = excluded.wrong AND g.tried_at > moment - within AND g.tried_at <= moment THEN g.tried_at
            ELSE excluded.tried_at
        END;

    -- No more of them than are needed to know: in a burst there are many.
    SELECT count(*) INTO everybody FROM (
        SELECT FROM counterfoil.guess AS g
        WHERE g.wrong AND g.tried_at > greatest(moment - within, last.wait_until) AND g.tried_at <= moment
        LIMIT alert
    ) AS those;
    IF alert > 0 AND everybody >= alert AND (
        last.noticed_at IS NULL OR last.noticed_at > moment
        OR coalesce(last.wait_until, last.noticed_at + within) <= moment
    ) THEN
        PERFORM counterfoil.notice_guessing(last.noticed_at, pause, within, most, mail, moment);
    END IF;

    -- Last, and past whatever others are at: so nobody waits for anybody in a circle.
    DELETE FROM counterfoil.guess AS g WHERE (g.origin, g.code) IN (
        SELECT o.origin, o.code FROM counterfoil.guess AS o
        WHERE o.tried_at <= moment - within ORDER BY o.tried_at LIMIT 10 FOR UPDATE SKIP LOCKED
    );
    RETURN NEXT;
END
$$;

-- Put it before the seller that somebody may be guessing, once for a burst, and by mail once in a day; and let codes wait,
-- if that is wished. `before` is when a burst was noticed last: of several tries that see the next one, one notices it.
CREATE FUNCTION counterfoil.notice_guessing(
    before timestamptz, pause interval, within interval, most integer, mail jsonb, moment timestamptz
)
RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    burst counterfoil.burst;
BEGIN
    INSERT INTO counterfoil.burst AS b (noticed_at, wait_until)
    VALUES (moment, CASE WHEN pause > interval '0' THEN moment + pause END)
    ON CONFLICT (one) DO UPDATE SET noticed_at = excluded.noticed_at, wait_until = excluded.wait_until
    WHERE b.noticed_at = before
    RETURNING b.* INTO burst;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM counterfoil.raise_attention('guessing', 'codes', (
        SELECT jsonb_build_object(
            'wrong', count(*), 'addresses', count(DISTINCT g.origin), 'most', most,
            'minutes', (extract(epoch FROM within) / 60)::integer,
            'noticed', to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'),
            'waits_until', to_char(burst.wait_until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')
        )
        FROM counterfoil.guess AS g
        WHERE g.wrong AND g.tried_at > moment - within AND g.tried_at <= moment
    ));
    IF burst.mailed_at IS NULL OR burst.mailed_at <= moment - interval '1 day' OR burst.mailed_at > moment THEN
        PERFORM counterfoil.write_mail(mail, NULL, moment);
        UPDATE counterfoil.burst SET mailed_at = moment;
    END IF;
END
$$;
