-- What must be true of a transaction before a place may be decided in it.
--
-- Above READ COMMITTED what is counted after a lock was won is the snapshot from before the wait. PostgreSQL would
-- raise 40001 rather than oversell; this says so before anybody waits.
CREATE FUNCTION counterfoil.must_be_read_committed() RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    -- guard: read-committed
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a place is decided at READ COMMITTED, not at %', upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state',
                HINT = 'Give the verb an autocommit connection of its own.';
    END IF;
END
$$;
