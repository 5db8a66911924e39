-- What became of one attempt to deliver an event. Delivered is delivered, whichever attempt it was; a failure is heard
-- of the attempt that is at work only. `wait` is the time until the next one: none, and the event is given up, and put
-- before the seller. Answers whether it was given up.
CREATE FUNCTION counterfoil.close_delivery(
    endpoint bigint,
    seq bigint,
    attempt integer,
    delivered boolean,
    status integer,
    error text,
    wait interval
)
RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    moment timestamptz := counterfoil.clock();
BEGIN
    UPDATE counterfoil.delivery AS d
    SET delivered_at = CASE WHEN delivered THEN moment END,
        next_attempt_at = CASE WHEN NOT delivered THEN moment + wait END,
        last_status = status, last_error = error
    WHERE d.endpoint_id = close_delivery.endpoint AND d.seq = close_delivery.seq AND d.next_attempt_at IS NOT NULL
        AND (delivered OR d.attempts = attempt);
    IF FOUND AND NOT delivered AND wait IS NULL THEN
        PERFORM counterfoil.raise_attention('webhook-failing', endpoint::text, jsonb_build_object(
            'url', w.url, 'event', e.id, 'attempts', attempt, 'status', close_delivery.status, 'error', error
        ))
        FROM counterfoil.event AS e, counterfoil.webhook_endpoint AS w
        WHERE e.seq = close_delivery.seq AND w.id = close_delivery.endpoint;
        RETURN true;
    END IF;
    RETURN false;
END
$$;
