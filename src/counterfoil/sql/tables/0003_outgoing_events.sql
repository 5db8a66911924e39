-- What we tell other programs: every transition, written down where it is made, and who is still to hear of it.

-- An outbox and a log. Among the events of one subject the order of `seq` is the order in which they came true: whoever
-- writes one holds the lock of the row that it is about.
CREATE TABLE counterfoil.event (
    seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          text NOT NULL CONSTRAINT an_event_has_its_own_id UNIQUE,
    type        text NOT NULL,
    -- The redemption, the checkout at full price, or the allocation whose events are delivered in order.
    subject     text NOT NULL,
    -- The document of the resource, as it was at that moment.
    data        jsonb NOT NULL,
    created_at  timestamptz NOT NULL
);

CREATE INDEX event_of_a_type ON counterfoil.event (type, seq);

-- Never deleted: an event that is being written may be for it. A disabled one is sent nothing, and its secret is gone.
CREATE TABLE counterfoil.webhook_endpoint (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url         text NOT NULL,
    secret      text,
    -- NULL: events of every type.
    types       text[] CONSTRAINT an_endpoint_wants_something CHECK (types <> '{}'),
    created_at  timestamptz NOT NULL,
    disabled_at timestamptz,
    CONSTRAINT an_endpoint_signs_until_it_is_disabled CHECK ((secret IS NULL) = (disabled_at IS NOT NULL))
);

-- An event on its way to an endpoint. Due at `next_attempt_at`, which a sender moves ahead while it is at work: if it
-- dies, the delivery is due again. Empty once it was delivered, or given up.
CREATE TABLE counterfoil.delivery (
    seq             bigint NOT NULL REFERENCES counterfoil.event (seq),
    endpoint_id     bigint NOT NULL REFERENCES counterfoil.webhook_endpoint (id),
    subject         text NOT NULL,
    attempts        integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz,
    delivered_at    timestamptz,
    last_attempt_at timestamptz,
    last_status     integer,
    last_error      text,
    PRIMARY KEY (seq, endpoint_id),
    CONSTRAINT what_was_delivered_is_not_due CHECK (delivered_at IS NULL OR next_attempt_at IS NULL)
);

CREATE INDEX delivery_log ON counterfoil.delivery (endpoint_id, seq);
CREATE INDEX delivery_due ON counterfoil.delivery (endpoint_id, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX delivery_in_order ON counterfoil.delivery (endpoint_id, subject, seq) WHERE next_attempt_at IS NOT NULL;
