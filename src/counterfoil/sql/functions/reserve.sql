-- Hold one place, or say why not. Always one row; outcome:
--   held             the place is held; `claim` is the new row
--   yours            the buyer has an open claim already: `claim`
--   limit            the buyer's own limit is reached; `claim` is the last place used
--   spent            every place is paid for or being paid for
--   held_by_others   no place is free now; some may come back, the first at `next_release_at`
--   ask              the only places left belong to lapsed holds whose session's end was never heard, or to delayed
--                    payments past their deadline: `asks`
--   hoarding         one address left too many holds unpaid, `held` of them: see hoarding.sql
--   changed          the code is no longer at the version that the price was worked out from
--   unknown, paused, not_open, ended, not_for_product
--
-- Two buyers, one place: the second waits at the gate below. PostgreSQL then tests the gate's condition again, on the
-- row as the first left it. Counting rows in the same statement as the lock would read the snapshot from before the
-- wait, and oversell.
CREATE FUNCTION counterfoil.reserve(
    id uuid,
    code text,
    version bigint,
    product text,
    buyer text,
    buyer_key text,
    hold interval,
    lock_timeout interval,
    instead_of uuid,
    origin text DEFAULT NULL,
    holds_per_origin integer DEFAULT NULL,
    mailbox_key text DEFAULT NULL
)
RETURNS TABLE (
    outcome text,
    claim counterfoil.redemption,
    in_period text,
    places bigint,
    held bigint,
    next_release_at timestamptz,
    per_buyer_limit integer,
    starts_on date,
    ends_on date,
    asks jsonb
)
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz := counterfoil.clock();
    claimant text;
    seen record;
    own record;
    full_now record;
    hoard record;
    gate counterfoil.allocation;
    admitted boolean := false;
    used_before bigint;
    wanted bigint;
    taken_back bigint;
    lapsed uuid[];
    attempt integer := 1;
BEGIN
    PERFORM counterfoil.must_be_read_committed();

    -- The quick answers: from a snapshot, without the lock, with nothing to flush.
    SELECT * INTO seen FROM counterfoil.consider(
        reserve.code, reserve.version, reserve.product, reserve.buyer_key, moment, reserve.mailbox_key
    );
    claimant := coalesce(seen.mailbox, reserve.buyer_key);
    outcome := seen.outcome;
    in_period := seen.period;
    per_buyer_limit := seen.per_buyer_limit;
    starts_on := seen.starts_on;
    ends_on := seen.ends_on;
    IF outcome IS NOT NULL AND NOT (outcome = 'yours' AND instead_of IS NOT NULL) THEN
        claim := seen.claim;
        places := seen.places;
        held := seen.held;
        next_release_at := seen.next_release_at;
        RETURN NEXT; RETURN;
    END IF;

    IF reserve.origin IS NOT NULL AND instead_of IS NULL THEN
        SELECT * INTO hoard FROM counterfoil.hoarding(
            seen.counts_with, seen.period, reserve.origin, holds_per_origin, 0, moment
        );
        IF FOUND THEN
            outcome := 'hoarding';
            held := hoard.unpaid;
            next_release_at := hoard.until;
            RETURN NEXT; RETURN;
        END IF;
    END IF;

    PERFORM counterfoil.wait_at_most(lock_timeout);

    IF instead_of IS NOT NULL THEN
        -- The place moves from the buyer's older claim to this one, and is never free in between.
        gate := counterfoil.allocation_lock(seen.counts_with, seen.period, lock_timeout);
        used_before := gate.used;
        moment := counterfoil.clock();
        -- guard: a-place-does-not-move-to-a-stopped-code
        IF EXISTS (SELECT FROM counterfoil.code AS c WHERE c.id = seen.code_id AND c.paused_at IS NOT NULL) THEN
            outcome := 'paused';
            RETURN NEXT; RETURN;
        END IF;
        -- Its attempts count on, so that a place cannot be kept for ever by moving it.
        SELECT r.expires_at > moment OR gate.cap IS NULL OR gate.used <= gate.cap, r.attempt INTO admitted, attempt
        FROM counterfoil.redemption AS r
        WHERE r.counts_with = seen.counts_with AND r.id = instead_of AND r.period = seen.period
            AND coalesce(r.mailbox_key, r.buyer_key) = claimant AND r.status = 'reserved'
            -- Its session was detached and ended. If it has one again, another request of this buyer made it just now,
            -- and its page may be paid: the caller looks again.
            -- guard: a-place-moves-without-a-session
            AND r.session_id IS NULL
        FOR UPDATE;
        IF FOUND THEN
            PERFORM counterfoil.end_redemption(seen.counts_with, ARRAY[instead_of], 'superseded', moment);
            IF NOT admitted THEN
                PERFORM counterfoil.occupy(seen.counts_with, seen.period, -1);
            END IF;
        END IF;
        admitted := coalesce(admitted, false);
        attempt := coalesce(attempt, 1);
    END IF;

    IF NOT admitted THEN
        UPDATE counterfoil.allocation AS a SET used = a.used + 1
        WHERE a.code_id = seen.counts_with AND a.period = seen.period
            -- guard: the-gate
            AND (a.cap IS NULL OR a.used < a.cap)
        RETURNING a.* INTO gate;
        admitted := FOUND;
        used_before := gate.used - 1;
    END IF;

    IF NOT admitted THEN
        gate := counterfoil.allocation_lock(seen.counts_with, seen.period, lock_timeout);
        moment := counterfoil.clock();
        used_before := gate.used;
        taken_back := 0;
        wanted := greatest(coalesce(gate.used + 1 - gate.cap, 0), 0);
        LOOP
            -- Full by the counter. Lapsed holds that nobody could have paid give their places back here and now, if
            -- there are enough of them: a refusal leaves everything as it was. One that is settled in this very moment
            -- is not among those that come back, and another is looked for.
            lapsed := ARRAY(
                SELECT r.id FROM counterfoil.redemption AS r
                WHERE r.counts_with = seen.counts_with AND r.period = seen.period AND r.status = 'reserved'
                    -- guard: only-lapsed-holds-are-taken-back
                    AND r.expires_at <= moment
                    -- guard: ask-before-re-letting
                    AND r.session_id IS NULL AND r.former_sessions = '{}'
                ORDER BY r.expires_at
                LIMIT wanted - taken_back
            );
            EXIT WHEN taken_back = wanted OR cardinality(lapsed) < wanted - taken_back;
            taken_back := taken_back + counterfoil.end_redemption(seen.counts_with, lapsed, 'lapsed', moment);
        END LOOP;
        admitted := taken_back = wanted;
        IF admitted OR taken_back > 0 THEN
            PERFORM counterfoil.occupy(seen.counts_with, seen.period, admitted::integer - taken_back);
            gate.used := gate.used + admitted::integer - taken_back;
        END IF;
    END IF;

    IF NOT admitted THEN
        -- A lapsed hold with a session may have been paid, and a delayed payment past its deadline may have failed,
        -- without our having heard: the caller asks Stripe, about the oldest, all at the same time.
        SELECT jsonb_agg(to_jsonb(unheard)) INTO asks
        FROM (
            SELECT
                r.id, r.counts_with, r.attempt,
                coalesce(r.session_id, r.former_sessions[cardinality(r.former_sessions)]) AS session_id
            FROM counterfoil.redemption AS r
            WHERE r.counts_with = seen.counts_with AND r.period = seen.period AND r.status IN ('reserved', 'pending')
                AND r.expires_at <= moment AND (r.session_id IS NOT NULL OR r.former_sessions <> '{}')
            ORDER BY r.expires_at
            LIMIT 10
        ) AS unheard;
        SELECT * INTO full_now FROM counterfoil.room(seen.counts_with, seen.period, moment);
        places := full_now.cap;
        held := full_now.held;
        next_release_at := full_now.next_release_at;
        outcome := CASE
            WHEN asks IS NOT NULL THEN 'ask'
            WHEN full_now.used - full_now.held - full_now.lapsed >= full_now.cap THEN 'spent'
            ELSE 'held_by_others'
        END;
        RETURN NEXT; RETURN;
    END IF;

    -- Nobody can add a claim of this buyer while we hold the lock, so what is read now is exact.
    SELECT claims.*, c.paused_at INTO own
    FROM counterfoil.claims_of(seen.counts_with, seen.period, claimant) AS claims
    JOIN counterfoil.code AS c ON c.id = seen.code_id;
    -- It was paused, or replaced, while its buyer waited. Whoever begins to wait after that sees it at once.
    -- guard: a-stopped-code-stops-at-once
    IF own.paused_at IS NOT NULL AND instead_of IS NULL THEN
        PERFORM counterfoil.occupy(seen.counts_with, seen.period, -1);
        outcome := 'paused';
        RETURN NEXT; RETURN;
    END IF;
    -- guard: one-claim-of-a-buyer
    IF (own.open).id IS NOT NULL OR own.spent >= seen.per_buyer_limit THEN
        PERFORM counterfoil.occupy(seen.counts_with, seen.period, -1);
        outcome := CASE WHEN (own.open).id IS NOT NULL THEN 'yours' ELSE 'limit' END;
        claim := CASE WHEN (own.open).id IS NOT NULL THEN own.open ELSE own.last_spent END;
        RETURN NEXT; RETURN;
    END IF;

    -- The same of its address: many may have asked at once.
    -- guard: an-address-is-counted-under-the-lock
    IF reserve.origin IS NOT NULL AND instead_of IS NULL THEN
        SELECT * INTO hoard FROM counterfoil.hoarding(
            seen.counts_with, seen.period, reserve.origin, holds_per_origin, 1, moment
        );
        IF FOUND THEN
            PERFORM counterfoil.occupy(seen.counts_with, seen.period, -1);
            outcome := 'hoarding';
            held := hoard.unpaid;
            next_release_at := hoard.until;
            RETURN NEXT; RETURN;
        END IF;
    END IF;

    -- guard: stamped-after-the-lock
    moment := counterfoil.clock();
    INSERT INTO counterfoil.redemption AS r (
        id, code_id, counts_with, period, status, buyer, buyer_key, reserved_at, expires_at, attempt, origin,
        mailbox_key
    ) VALUES (
        reserve.id, seen.code_id, seen.counts_with, seen.period, 'reserved', reserve.buyer, reserve.buyer_key,
        moment, moment + hold, attempt, reserve.origin,
        seen.mailbox
    )
    RETURNING r.* INTO claim;
    PERFORM counterfoil.step(claim, 'reserved', moment);
    PERFORM counterfoil.announce_redemption(claim);
    PERFORM counterfoil.announce_fullness(gate, used_before, gate.cap);
    outcome := 'held';
    RETURN NEXT;
END
$$;
