-- What became of one attempt to send a mail. Sent is sent, whichever attempt it was; a failure is heard of the attempt
-- that is at work only. `wait` is the time until the next one: none, and the mail is given up, and put before the seller.
-- Answers whether it was given up. Either way its link is forgotten then.
CREATE FUNCTION counterfoil.close_mail(mail bigint, attempt integer, sent boolean, error text, wait interval)
RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz := counterfoil.clock();
    tried counterfoil.mail;
BEGIN
    UPDATE counterfoil.mail AS m
    SET sent_at = CASE WHEN sent THEN moment END,
        next_attempt_at = CASE WHEN NOT sent THEN moment + wait END,
        link = CASE WHEN NOT sent AND wait IS NOT NULL THEN m.link END,
        last_error = error
    WHERE m.id = close_mail.mail AND m.next_attempt_at IS NOT NULL AND (sent OR m.attempts = attempt)
    RETURNING m.* INTO tried;
    IF FOUND AND NOT sent AND wait IS NULL THEN
        PERFORM counterfoil.raise_attention('mail-failing', tried.recipient, jsonb_build_object(
            'about', tried.subject, 'attempts', attempt, 'error', error
        ));
        RETURN true;
    END IF;
    RETURN false;
END
$$;
