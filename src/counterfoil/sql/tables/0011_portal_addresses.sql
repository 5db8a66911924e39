-- An address that a member says is theirs. It is used for nothing until whoever reads its mail has said so too.
CREATE TABLE counterfoil.portal_address (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    member_id   bigint NOT NULL REFERENCES counterfoil.portal_member (id),
    email       text NOT NULL,
    email_key   text NOT NULL,
    token_hash  bytea NOT NULL CONSTRAINT a_token_is_of_one_address UNIQUE,
    asked_at    timestamptz NOT NULL,
    ends_at     timestamptz NOT NULL,
    proved_at   timestamptz,
    revoked_at  timestamptz
);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX portal_address_of_a_member ON counterfoil.portal_address (member_id, asked_at);
-- What was sent to an address is counted, whoever it was sent for, and whether they belong to it still.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX portal_address_by_address ON counterfoil.portal_address (email_key, asked_at);
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX portal_member_by_any_address ON counterfoil.portal_member (email_key) WHERE email_key IS NOT NULL;
