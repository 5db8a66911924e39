-- Codes that are tried on public pages, so that nobody finds one by trying many.

-- What was tried lately, each code once from an address: keyed digests of both. Right ones are written down as well, so
-- that a right code is as much work as a wrong one.
CREATE TABLE counterfoil.guess (
    -- Empty where a request has no address.
    origin      text NOT NULL,
    code        text NOT NULL,
    wrong       boolean NOT NULL,
    tried_at    timestamptz NOT NULL,
    PRIMARY KEY (origin, code)
);

CREATE INDEX guess_wrong_from_an_address ON counterfoil.guess (origin, tried_at) WHERE wrong;
CREATE INDEX guess_wrong ON counterfoil.guess (tried_at) WHERE wrong;
CREATE INDEX guess_to_forget ON counterfoil.guess (tried_at);

-- When the wrong codes of all addresses together became too many, for the last time.
CREATE TABLE counterfoil.burst (
    one         boolean PRIMARY KEY DEFAULT true CONSTRAINT the_last_burst_is_one CHECK (one),
    noticed_at  timestamptz NOT NULL,
    mailed_at   timestamptz,
    -- Until then no code is taken on public pages, if the setting says so.
    wait_until  timestamptz
);
