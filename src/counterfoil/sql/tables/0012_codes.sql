-- Codes that take another's place, and codes that were made together.

-- The code in force in place of one that was replaced, also where that was done more than once: there are no chains.
ALTER TABLE counterfoil.code ADD COLUMN replaced_by bigint;
-- squawk-ignore adding-foreign-key-constraint, constraint-missing-not-valid
ALTER TABLE counterfoil.code ADD CONSTRAINT a_code_is_replaced_by_a_code
    FOREIGN KEY (replaced_by) REFERENCES counterfoil.code (id);
-- squawk-ignore constraint-missing-not-valid
ALTER TABLE counterfoil.code ADD CONSTRAINT a_replaced_code_lets_nobody_in
    CHECK (replaced_by IS NULL OR (paused_at IS NOT NULL AND replaced_by <> id));
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX code_by_replaced_by ON counterfoil.code (replaced_by) WHERE replaced_by IS NOT NULL;

-- Codes made at random, together. How hard they are to guess is as it was said when they were made: of so many codes of
-- this form (`codes`), out of so many that there might be (`space`).
CREATE TABLE counterfoil.code_batch (
    id              uuid PRIMARY KEY,
    institution_id  bigint NOT NULL REFERENCES counterfoil.institution (id),
    prefix          text NOT NULL,
    pattern         text NOT NULL,
    codes           bigint NOT NULL,
    space           numeric NOT NULL,
    created_at      timestamptz NOT NULL
);
ALTER TABLE counterfoil.code ADD COLUMN batch_id uuid;
-- squawk-ignore adding-foreign-key-constraint, constraint-missing-not-valid
ALTER TABLE counterfoil.code ADD CONSTRAINT a_code_was_made_in_a_batch
    FOREIGN KEY (batch_id) REFERENCES counterfoil.code_batch (id);
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX code_by_batch ON counterfoil.code (batch_id, id) WHERE batch_id IS NOT NULL;
