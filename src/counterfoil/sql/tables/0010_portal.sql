-- The institution's own page: who may open it, the mails that carry its links, and what it is told.

-- What an institution sets for itself (its alert), and what only the seller sets: whether its table names buyers.
ALTER TABLE counterfoil.institution
    ADD COLUMN alert_on boolean NOT NULL DEFAULT false,
    ADD COLUMN alert_percent integer NOT NULL DEFAULT 60,
    ADD COLUMN shows_buyers boolean NOT NULL DEFAULT false;

-- An outbox and a log. Written in the transaction of what it is about; sent at least once by whoever claims it. Due at
-- `next_attempt_at`, which a sender moves ahead while it is at work. Empty once it was sent, given up, or useless.
CREATE TABLE counterfoil.mail (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind            text NOT NULL,
    recipient       text NOT NULL,
    subject         text NOT NULL,
    -- `{link}` stands where the link goes, which is a secret: it is kept apart, and forgotten once it was sent.
    body            text NOT NULL,
    link            text,
    created_at      timestamptz NOT NULL,
    -- From then on it would be of no use to anybody, and is not sent: its link is over.
    good_until      timestamptz,
    attempts        integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz,
    sent_at         timestamptz,
    last_error      text,
    CONSTRAINT a_link_is_kept_until_it_is_sent CHECK (link IS NULL OR next_attempt_at IS NOT NULL),
    CONSTRAINT a_sent_mail_is_not_due CHECK (sent_at IS NULL OR next_attempt_at IS NULL)
);

CREATE INDEX mail_due ON counterfoil.mail (next_attempt_at) WHERE next_attempt_at IS NOT NULL;

-- A person of an institution. Whoever was invited by a link alone has no address until they give one.
CREATE TABLE counterfoil.portal_member (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    institution_id  bigint NOT NULL REFERENCES counterfoil.institution (id),
    email           text,
    email_key       text,
    name            text NOT NULL DEFAULT '',
    wants_notices   boolean NOT NULL DEFAULT true,
    invited_at      timestamptz NOT NULL,
    joined_at       timestamptz,
    removed_at      timestamptz,
    CONSTRAINT an_address_has_a_folded_form CHECK ((email IS NULL) = (email_key IS NULL))
);

CREATE UNIQUE INDEX an_address_is_one_member_of_an_institution
    ON counterfoil.portal_member (institution_id, email_key) WHERE removed_at IS NULL;
CREATE INDEX portal_member_by_address ON counterfoil.portal_member (email_key) WHERE removed_at IS NULL;

-- What opens the page once. 256 random bits, of which only a digest is kept.
CREATE TABLE counterfoil.portal_link (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    member_id   bigint NOT NULL REFERENCES counterfoil.portal_member (id),
    kind        text NOT NULL CONSTRAINT a_link_invites_or_signs_in CHECK (kind IN ('invitation', 'sign_in')),
    token_hash  bytea NOT NULL CONSTRAINT a_token_is_of_one_link UNIQUE,
    created_at  timestamptz NOT NULL,
    ends_at     timestamptz NOT NULL,
    redeemed_at timestamptz,
    revoked_at  timestamptz
);

CREATE INDEX portal_link_of_a_member ON counterfoil.portal_link (member_id, created_at);

-- A browser that opened one. Good while it is used at least every 30 days.
CREATE TABLE counterfoil.portal_session (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    member_id       bigint NOT NULL REFERENCES counterfoil.portal_member (id),
    token_hash      bytea NOT NULL CONSTRAINT a_token_is_of_one_session UNIQUE,
    created_at      timestamptz NOT NULL,
    last_seen_at    timestamptz NOT NULL,
    ended_at        timestamptz
);

CREATE INDEX portal_session_of_a_member ON counterfoil.portal_session (member_id);

-- An institution asked for more places. One entry for an allocation and the cap that it had then: a higher one answers it.
CREATE TABLE counterfoil.places_request (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    institution_id  bigint NOT NULL REFERENCES counterfoil.institution (id),
    code_id         bigint NOT NULL REFERENCES counterfoil.code (id),
    counts_with     bigint NOT NULL,
    period          text NOT NULL,
    cap             bigint NOT NULL,
    more            bigint NOT NULL CONSTRAINT some_places_are_wanted CHECK (more > 0),
    reason          text NOT NULL DEFAULT '',
    asked_by        bigint NOT NULL REFERENCES counterfoil.portal_member (id),
    asked_at        timestamptz NOT NULL,
    CONSTRAINT a_request_is_of_one_cap UNIQUE (institution_id, counts_with, period, cap)
);

-- What an institution is told of an allocation, each once for a threshold and a cap: the constraint says so.
CREATE TABLE counterfoil.portal_notice (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    institution_id  bigint NOT NULL REFERENCES counterfoil.institution (id),
    code_id         bigint NOT NULL REFERENCES counterfoil.code (id),
    period          text NOT NULL,
    kind            text NOT NULL CONSTRAINT a_kind_of_notice_is_known
        CHECK (kind IN ('threshold', 'alert', 'held', 'full', 'year_end')),
    percent         integer NOT NULL,
    -- The cap that was reached; 0 for the end of a year, which is told once whatever the cap.
    reached         bigint NOT NULL,
    usage           jsonb NOT NULL,
    made_at         timestamptz NOT NULL,
    -- When its mails were written: by a program, which has the words.
    mailed_at       timestamptz,
    -- Of holds that fill the rest: still to be looked at, whether all of them were paid for.
    watched         boolean NOT NULL DEFAULT false,
    CONSTRAINT a_notice_is_given_once UNIQUE (institution_id, code_id, period, kind, percent, reached)
);

CREATE INDEX portal_notice_newest ON counterfoil.portal_notice (institution_id, made_at DESC, id DESC);
CREATE INDEX portal_notice_unmailed ON counterfoil.portal_notice (id) WHERE mailed_at IS NULL;
CREATE INDEX portal_notice_watched ON counterfoil.portal_notice (code_id, period) WHERE watched;
