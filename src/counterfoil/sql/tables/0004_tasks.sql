-- What is done at intervals, by one process of many: whoever moves `next_at` forward does it this time. Nothing that
-- decides about a place rests on it.
CREATE TABLE counterfoil.task (
    name    text PRIMARY KEY,
    next_at timestamptz NOT NULL
);

-- What is looked at by them: checkouts at full price that were not settled. There are few, and
-- migrations run in one transaction, where no index can be made beside it.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX checkout_unsettled ON counterfoil.checkout (session_expires_at)
    WHERE counts_with = 0 AND status IN ('open', 'pending');
