-- The rows of some sessions, found as settling finds them, and which matters about each are before the seller already.
SELECT
    asked.session_id,
    ours.known,
    counterfoil.redemption_document(ours.claim) AS claim,
    CASE WHEN (ours.sale).id IS NOT NULL THEN to_jsonb(ours.sale) END AS sale,
    ARRAY(
        SELECT a.kind FROM counterfoil.attention AS a
        WHERE a.subject IN (asked.session_id, asked.payment_intent)
            AND a.kind IN ('unmatched-session', 'paid-twice', 'dispute', 'drift')
    ) AS listed
FROM jsonb_to_recordset(:sessions::jsonb) AS asked (
    session_id text,
    counts_with bigint,
    redemption uuid,
    checkout uuid,
    attempt integer,
    recovered_from text,
    payment_intent text
)
CROSS JOIN LATERAL counterfoil.rows_of_session(
    asked.session_id, asked.counts_with, asked.redemption, asked.checkout, asked.attempt, asked.recovered_from
) AS ours
