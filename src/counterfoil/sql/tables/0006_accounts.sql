-- Who works on the seller's pages, and the browsers they are signed in with.

CREATE TABLE counterfoil.account (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Folded: what differs in case alone is one address.
    email           text NOT NULL CONSTRAINT an_address_has_one_account UNIQUE,
    name            text NOT NULL,
    role            text NOT NULL CONSTRAINT a_role_is_known CHECK (role IN ('owner', 'staff', 'read-only')),
    -- Argon2's own form, with its parameters and its salt.
    password_hash   text NOT NULL,
    -- A password that somebody else made is good until then, and opens one page: the one that changes it.
    first_until     timestamptz,
    created_at      timestamptz NOT NULL,
    disabled_at     timestamptz
);

-- A session is a row, so that it can be ended from elsewhere. The browser has the token, the row its digest.
CREATE TABLE counterfoil.account_session (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token_hash      bytea NOT NULL CONSTRAINT a_token_opens_one_session UNIQUE,
    account_id      bigint REFERENCES counterfoil.account (id),
    -- Of whoever signed in with a key: 0 is the admin key of the settings, which is in no table.
    key_id          bigint,
    -- A keyed digest of that admin key: the session ends when another one is set.
    admin_key_hash  bytea,
    -- What the browser says it is, in a few words.
    browser         text NOT NULL,
    created_at      timestamptz NOT NULL,
    last_seen_at    timestamptz NOT NULL,
    ends_at         timestamptz NOT NULL,
    CONSTRAINT a_session_is_somebodys CHECK (num_nonnulls(account_id, key_id) = 1),
    CONSTRAINT the_admin_key_is_known_by_its_digest CHECK ((key_id IS NOT DISTINCT FROM 0) = (admin_key_hash IS NOT NULL))
);

CREATE INDEX account_session_of_an_account ON counterfoil.account_session (account_id);
CREATE INDEX account_session_ended ON counterfoil.account_session (ends_at);

-- Tries that must not become too many, by what they have in common: an address, an account. Names are keyed digests.
CREATE TABLE counterfoil.throttle (
    name        text PRIMARY KEY,
    tried_at    timestamptz[] NOT NULL,
    forget_at   timestamptz NOT NULL
);

CREATE INDEX throttle_forgotten ON counterfoil.throttle (forget_at);

-- Each of the seller's pages says how many matters are open. There are few.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX attention_open ON counterfoil.attention (raised_at DESC, id DESC) WHERE resolved_at IS NULL;
