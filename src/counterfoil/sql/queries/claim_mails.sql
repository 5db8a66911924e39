-- Take on mails that are due, and drop those whose link is over. They are due again after the lease, should whoever took
-- them on die. What another sender is taking on is left to it.
WITH now AS MATERIALIZED (SELECT counterfoil.clock() AS moment),
useless AS (
    UPDATE counterfoil.mail AS m
    SET next_attempt_at = NULL, link = NULL, last_error = 'not sent: its link was over'
    FROM now
    WHERE m.next_attempt_at IS NOT NULL AND m.good_until <= now.moment
),
due AS (
    SELECT m.id, now.moment
    FROM now, counterfoil.mail AS m
    WHERE m.next_attempt_at <= now.moment AND (m.good_until > now.moment) IS NOT FALSE
    ORDER BY m.next_attempt_at
    LIMIT :most::integer
    FOR UPDATE OF m SKIP LOCKED
)
UPDATE counterfoil.mail AS m
SET attempts = m.attempts + 1, next_attempt_at = due.moment + :lease::interval
FROM due
WHERE m.id = due.id
RETURNING m.*
