-- How long whatever comes next in this transaction waits for a lock: then it is 55P03, which means *busy*.
CREATE FUNCTION counterfoil.wait_at_most(lock_timeout interval)
RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM set_config('lock_timeout', ceil(extract(epoch FROM lock_timeout) * 1000)::bigint || 'ms', true);
END
$$;
