-- What can be said to a buyer from one look, without a lock: why not, or nothing (`outcome` is null) if it is worth
-- trying for a place. `reserve` begins with it; a quote is nothing else. Outcomes as in reserve.sql.
--
-- `mailbox` is the buyer's mailbox if the code counts by it: the rule is that of the code whose allocation it is.
CREATE FUNCTION counterfoil.consider(
    code text,
    version bigint,
    product text,
    buyer_key text,
    moment timestamptz,
    mailbox_key text DEFAULT NULL
)
RETURNS TABLE (
    outcome text,
    code_id bigint,
    counts_with bigint,
    period text,
    claim counterfoil.redemption,
    places bigint,
    held bigint,
    next_release_at timestamptz,
    per_buyer_limit integer,
    starts_on date,
    ends_on date,
    mailbox text
)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    terms record;
    named counterfoil.named_period;
    own record;
    room record;
BEGIN
    SELECT
        c.id, c.version, c.paused_at, c.starts_on, c.ends_on, c.products, c.per_buyer_limit, pool.id AS counts_with, pool.cap,
        pool.buyer_identity,
        pool.calendar, (moment AT TIME ZONE keeper.time_zone)::date AS day,
        CASE
            WHEN pool.calendar <> 'custom'
                THEN counterfoil.period_key(pool.calendar, keeper.year_start, keeper.time_zone, moment)
        END AS period,
        (moment AT TIME ZONE school.time_zone)::date AS today
    INTO terms
    FROM counterfoil.code AS c
    JOIN counterfoil.institution AS school ON school.id = c.institution_id
    JOIN counterfoil.code AS pool ON pool.id = coalesce(c.counts_with, c.id)
    JOIN counterfoil.institution AS keeper ON keeper.id = pool.institution_id
    WHERE c.folded = consider.code;
    IF NOT FOUND THEN
        outcome := 'unknown';
        RETURN NEXT; RETURN;
    END IF;
    IF terms.calendar = 'custom' THEN
        SELECT * INTO named FROM counterfoil.named_period_on(terms.counts_with, terms.day);
        terms.period := named.name;
    END IF;
    code_id := terms.id;
    counts_with := terms.counts_with;
    period := terms.period;
    per_buyer_limit := terms.per_buyer_limit;
    starts_on := terms.starts_on;
    ends_on := terms.ends_on;
    -- guard: by-the-rule-of-the-code
    mailbox := CASE WHEN terms.buyer_identity = 'mailbox' THEN consider.mailbox_key END;
    outcome := CASE
        -- guard: paused
        WHEN terms.paused_at IS NOT NULL THEN 'paused'
        -- guard: not-open-yet
        WHEN terms.today < terms.starts_on THEN 'not_open'
        -- guard: ended
        WHEN terms.today > terms.ends_on THEN 'ended'
        -- Between two named periods, or before the first that there will be.
        -- guard: only-within-a-named-period
        WHEN terms.calendar = 'custom' AND (terms.period IS NULL OR terms.day < named.starts_on) THEN 'not_open'
        -- guard: after-the-last-named-period
        WHEN terms.calendar = 'custom' AND terms.day > named.ends_on THEN 'ended'
        -- guard: for-these-products
        WHEN terms.products IS NOT NULL AND (product IS NULL OR product <> ALL (terms.products)) THEN 'not_for_product'
        -- guard: the-price-is-of-this-version
        WHEN terms.version <> consider.version THEN 'changed'
    END;
    IF outcome IS NOT NULL THEN
        -- What is told is the days of what is closed: the code's own window, or the period that is next, or was last.
        IF terms.calendar = 'custom' AND outcome IN ('not_open', 'ended')
            AND (terms.today BETWEEN coalesce(terms.starts_on, terms.today) AND coalesce(terms.ends_on, terms.today))
        THEN
            starts_on := named.starts_on;
            ends_on := named.ends_on;
        END IF;
        RETURN NEXT; RETURN;
    END IF;

    SELECT * INTO own FROM counterfoil.claims_of(
        terms.counts_with, terms.period, coalesce(mailbox, consider.buyer_key)
    );
    IF (own.open).id IS NOT NULL THEN
        outcome := 'yours';
        claim := own.open;
    ELSIF own.spent >= terms.per_buyer_limit THEN
        outcome := 'limit';
        claim := own.last_spent;
    ELSIF EXISTS (
        SELECT FROM counterfoil.allocation AS a
        WHERE a.code_id = terms.counts_with AND a.period = terms.period AND a.used >= a.cap
    ) THEN
        SELECT * INTO room FROM counterfoil.room(terms.counts_with, terms.period, moment);
        -- Full even if all came back that Stripe may be asked about.
        IF room.used - room.lapsed - room.overdue >= room.cap THEN
            outcome := CASE WHEN room.used - room.held - room.lapsed >= room.cap THEN 'spent' ELSE 'held_by_others' END;
            places := room.cap;
            held := room.held;
            next_release_at := room.next_release_at;
        END IF;
    ELSIF terms.cap = 0 AND NOT EXISTS (
        SELECT FROM counterfoil.allocation AS a WHERE a.code_id = terms.counts_with AND a.period = terms.period
    ) THEN
        -- Nobody ever asked for a place of this period, and there is none.
        outcome := 'spent';
        places := 0;
        held := 0;
    END IF;
    RETURN NEXT;
END
$$;
