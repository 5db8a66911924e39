-- What the service keeps for itself: who may call it, and what it answered.

-- One database serves one seller and one Stripe mode, recorded at first start.
CREATE TABLE counterfoil.seller (
    only_one    boolean PRIMARY KEY DEFAULT true CONSTRAINT there_is_one_seller CHECK (only_one),
    livemode    boolean NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT statement_timestamp()
);

CREATE TABLE counterfoil.api_key (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text NOT NULL,
    scope       text NOT NULL CONSTRAINT a_scope_is_known CHECK (scope IN ('checkout', 'read', 'manage')),
    hint        text NOT NULL,
    secret_hash bytea NOT NULL CONSTRAINT a_secret_opens_one_key UNIQUE,
    created_at  timestamptz NOT NULL DEFAULT statement_timestamp(),
    revoked_at  timestamptz
);

CREATE TABLE counterfoil.idempotency (
    key_id      bigint NOT NULL,
    key         text NOT NULL,
    fingerprint bytea NOT NULL,
    begun_at    timestamptz NOT NULL,
    -- Empty while the first request is still at work.
    status      integer,
    resource    text,
    PRIMARY KEY (key_id, key)
);

CREATE INDEX idempotency_oldest ON counterfoil.idempotency (begun_at);
