-- A redemption and a checkout as they are read everywhere: one shape, with the moment of reading in it, so that
-- lapsed and live are told apart by the database's clock alone.
CREATE FUNCTION counterfoil.redemption_document(of counterfoil.redemption) RETURNS jsonb
LANGUAGE sql VOLATILE
AS $$
    SELECT CASE WHEN of.id IS NOT NULL THEN
        (to_jsonb(of) - '{origin,mailbox_key}'::text[]) || jsonb_build_object('code', c.code, 'read_at', counterfoil.clock())
    END
    FROM (SELECT 1) AS always
    LEFT JOIN counterfoil.code AS c ON c.id = of.code_id
$$;

CREATE FUNCTION counterfoil.checkout_document(of counterfoil.checkout) RETURNS jsonb
LANGUAGE sql VOLATILE
AS $$
    SELECT CASE WHEN of.id IS NOT NULL THEN
        to_jsonb(of) || jsonb_build_object(
            'redemption', (
                SELECT counterfoil.redemption_document(r) FROM counterfoil.redemption AS r
                WHERE r.counts_with = of.counts_with AND r.id = of.redemption_id
            )
        )
    END
$$;

CREATE FUNCTION counterfoil.code_document(of counterfoil.code) RETURNS jsonb
LANGUAGE sql VOLATILE
AS $$
    SELECT to_jsonb(of) || jsonb_build_object(
        'percent', of.percent::text,
        'institution', school.slug,
        'institution_name', school.name,
        'time_zone', school.time_zone,
        'counts_with', CASE WHEN of.counts_with IS NOT NULL THEN pool.code END,
        'replaced_by', CASE WHEN of.replaced_by IS NOT NULL THEN counterfoil.in_force(of) END,
        'buyer_identity', pool.buyer_identity,
        -- Codes that count together are counted by one calendar.
        'calendar', pool.calendar,
        'period', counterfoil.current_period(
            pool.id, pool.calendar, keeper.year_start, keeper.time_zone, counterfoil.clock()
        )
    )
    FROM counterfoil.institution AS school, counterfoil.code AS pool, counterfoil.institution AS keeper
    WHERE of.institution_id = school.id
        AND pool.id = coalesce(of.counts_with, of.id)
        AND keeper.id = pool.institution_id
$$;
