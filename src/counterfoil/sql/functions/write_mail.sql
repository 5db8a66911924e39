-- Write a mail into the outbox, in the transaction of what it is about. NULL: nobody is written to.
CREATE FUNCTION counterfoil.write_mail(mail jsonb, good_until timestamptz, moment timestamptz) RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO counterfoil.mail (kind, recipient, subject, body, link, created_at, good_until, next_attempt_at)
    SELECT
        mail ->> 'kind', mail ->> 'recipient', mail ->> 'subject', mail ->> 'body', mail ->> 'link',
        moment, write_mail.good_until, moment
    WHERE mail IS NOT NULL
$$;
