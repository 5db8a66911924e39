-- What is a person's: the redemptions of an address, and at codes that count by mailboxes those of all of its addresses.
CREATE FUNCTION counterfoil.redemptions_of_buyer(buyer_key text, mailbox_key text) RETURNS SETOF counterfoil.redemption
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN QUERY SELECT r.* FROM counterfoil.redemption AS r
    WHERE r.buyer_key = redemptions_of_buyer.buyer_key
        OR (r.mailbox_key IS NOT NULL AND r.mailbox_key = redemptions_of_buyer.mailbox_key)
    ORDER BY r.counts_with, r.id;
END
$$;

-- Their checkouts, and the address's own at full price.
CREATE FUNCTION counterfoil.checkouts_of_buyer(buyer_key text, mailbox_key text) RETURNS SETOF counterfoil.checkout
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN QUERY SELECT c.* FROM counterfoil.checkout AS c
    WHERE (c.counts_with, c.id) IN (
        SELECT own.counts_with, own.id FROM counterfoil.checkout AS own
        WHERE own.buyer_key = checkouts_of_buyer.buyer_key
        UNION
        SELECT theirs.counts_with, theirs.id
        FROM counterfoil.redemptions_of_buyer(checkouts_of_buyer.buyer_key, checkouts_of_buyer.mailbox_key) AS r
        JOIN counterfoil.checkout AS theirs ON theirs.counts_with = r.counts_with AND theirs.redemption_id = r.id
    )
    ORDER BY c.counts_with, c.id;
END
$$;

-- The document of an event, without whose it was. `word` is their address: what a shop calls a thing may have it in it.
CREATE FUNCTION counterfoil.without_buyer(of jsonb, word text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    IF jsonb_typeof(of -> 'redemption') = 'object' THEN
        of := of || jsonb_build_object('redemption', counterfoil.without_buyer(of -> 'redemption', word));
    END IF;
    RETURN of || coalesce(
        (
            SELECT jsonb_object_agg(o.key, CASE
                WHEN o.key = 'buyer' OR o.key = 'name' THEN '"(forgotten)"'::jsonb
                WHEN o.key = 'metadata' THEN '{}'::jsonb
                WHEN o.key IN ('browser', 'session_url') THEN 'null'::jsonb
                ELSE '""'::jsonb
            END)
            FROM jsonb_each(of) AS o
            WHERE o.key IN ('buyer', 'buyer_key', 'browser', 'metadata', 'success_url', 'cancel_url', 'session_url')
                OR (o.key = 'name' AND word LIKE '%@%' AND strpos(lower(o.value #>> '{}'), word) > 0)
        ),
        '{}'
    );
END
$$;

-- Lock all of these, in the order in which whoever settles one does: the redemption, then its checkout.
CREATE FUNCTION counterfoil.lock_rows_of_buyer(buyer_key text, mailbox_key text) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM FROM counterfoil.redemption AS r
    WHERE r.id IN (
        SELECT o.id FROM counterfoil.redemptions_of_buyer(
            lock_rows_of_buyer.buyer_key, lock_rows_of_buyer.mailbox_key
        ) AS o
    )
    ORDER BY r.counts_with, r.id FOR UPDATE;
    PERFORM FROM counterfoil.checkout AS c
    WHERE c.id IN (
        SELECT o.id FROM counterfoil.checkouts_of_buyer(lock_rows_of_buyer.buyer_key, lock_rows_of_buyer.mailbox_key) AS o
    )
    ORDER BY c.counts_with, c.id FOR UPDATE;
END
$$;

-- Forget a person: every row stays and counts as it did, and says no longer whose it is. Always one row; outcome:
--   forgotten   `erased` says how many rows of each kind; none, if nothing was held
--   open        a hold, a payment page or a payment is under way: nothing was changed
--
-- `buyer_key` is empty from then on, which no buyer's is: so nobody's limit is reached by it. The ids of sessions and
-- payments stay, because refunds and disputes are found by them.
CREATE FUNCTION counterfoil.forget(buyer_key text, mailbox_key text, lock_timeout interval)
RETURNS TABLE (
    outcome text, erased jsonb, redemptions uuid[], checkouts uuid[], sessions text[], payment_intents text[]
)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
DECLARE
    claims uuid[];
    sales uuid[];
    counted jsonb := '{}';
    number bigint;
BEGIN
    PERFORM counterfoil.must_be_read_committed();
    PERFORM counterfoil.wait_at_most(lock_timeout);
    -- Whoever settles one of these rows waits from here on, and then goes by what is left of it; whoever was first has
    -- written its events, which are erased below.
    -- guard: a-row-is-locked-before-it-is-forgotten
    PERFORM counterfoil.lock_rows_of_buyer(forget.buyer_key, forget.mailbox_key);

    SELECT coalesce(array_agg(r.id), '{}'), coalesce(array_agg(r.id) FILTER (WHERE r.status IN ('reserved', 'pending')), '{}')
    INTO claims, redemptions
    FROM counterfoil.redemptions_of_buyer(forget.buyer_key, forget.mailbox_key) AS r;
    SELECT coalesce(array_agg(c.id), '{}'), coalesce(array_agg(c.id) FILTER (WHERE c.status IN ('open', 'pending')), '{}')
    INTO sales, checkouts
    FROM counterfoil.checkouts_of_buyer(forget.buyer_key, forget.mailbox_key) AS c;
    -- guard: who-is-buying-is-not-forgotten
    IF cardinality(redemptions) + cardinality(checkouts) > 0 THEN
        outcome := 'open';
        RETURN NEXT; RETURN;
    END IF;

    -- What Stripe has of them is found by these.
    SELECT coalesce(array_agg(DISTINCT s.id), '{}') INTO sessions
    FROM (
        SELECT unnest(r.former_sessions || r.session_id) AS id FROM counterfoil.redemption AS r WHERE r.id = ANY (claims)
        UNION ALL
        SELECT c.session_id FROM counterfoil.checkout AS c WHERE c.id = ANY (sales)
    ) AS s
    WHERE s.id IS NOT NULL;
    SELECT coalesce(array_agg(c.payment_intent ORDER BY c.payment_intent), '{}') INTO payment_intents
    FROM counterfoil.checkout AS c WHERE c.id = ANY (sales) AND c.payment_intent IS NOT NULL;

    UPDATE counterfoil.entitlement AS e SET buyer = '(forgotten)', buyer_key = ''
    WHERE (e.counts_with, e.checkout_id) IN (
        SELECT c.counts_with, c.id FROM counterfoil.checkout AS c WHERE c.id = ANY (sales)
    );
    GET DIAGNOSTICS number = ROW_COUNT;
    counted := counted || jsonb_build_object('entitlements', number);
    UPDATE counterfoil.event AS e SET data = counterfoil.without_buyer(e.data, forget.buyer_key)
    WHERE e.subject = ANY (claims::text[] || sales::text[]);
    GET DIAGNOSTICS number = ROW_COUNT;
    counted := counted || jsonb_build_object('events', number);
    DELETE FROM counterfoil.idempotency AS i
    WHERE i.resource IN (SELECT 'checkout:' || id FROM unnest(sales) AS id)
        OR i.resource IN (SELECT 'redemption:' || id FROM unnest(claims) AS id);
    GET DIAGNOSTICS number = ROW_COUNT;
    counted := counted || jsonb_build_object('idempotency_keys', number);
    UPDATE counterfoil.checkout AS c
    SET buyer = '(forgotten)', buyer_key = '', browser = NULL, metadata = '{}', success_url = '', cancel_url = '',
        session_url = NULL,
        name = CASE
            WHEN forget.buyer_key LIKE '%@%' AND strpos(lower(c.name), forget.buyer_key) > 0 THEN '(forgotten)'
            ELSE c.name
        END
    WHERE c.id = ANY (sales);
    GET DIAGNOSTICS number = ROW_COUNT;
    counted := counted || jsonb_build_object('checkouts', number);
    UPDATE counterfoil.redemption AS r
    SET buyer = '(forgotten)', buyer_key = '', mailbox_key = NULL, origin = NULL, session_url = NULL
    WHERE r.id = ANY (claims);
    GET DIAGNOSTICS number = ROW_COUNT;
    counted := counted || jsonb_build_object('redemptions', number);

    outcome := 'forgotten';
    erased := counted;
    -- That somebody was forgotten is kept, and not who.
    IF cardinality(claims) + cardinality(sales) > 0 THEN
        PERFORM counterfoil.keep_record('buyer.forgotten', 'a buyer', NULL, counted);
    END IF;
    RETURN NEXT;
END
$$;
