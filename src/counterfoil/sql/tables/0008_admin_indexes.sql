-- What the seller's pages read, at any size: each list in the order of an index, each number from the gate.

-- Two people who edit the same product do not overwrite each other unseen.
ALTER TABLE counterfoil.product ADD COLUMN version bigint NOT NULL DEFAULT 1;

-- The period and the status stand in the indexes of the lists, so that what does not fit is passed over without a look at
-- its row. A migration is one transaction, where no index can be made beside it.
-- squawk-ignore require-concurrent-index-deletion
DROP INDEX counterfoil.redemption_newest;
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX redemption_newest ON counterfoil.redemption (reserved_at DESC, id DESC, period, status);
-- squawk-ignore require-concurrent-index-deletion
DROP INDEX counterfoil.redemption_of_a_code;
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX redemption_of_a_code ON counterfoil.redemption (code_id, reserved_at DESC, id DESC, period, status);
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX redemption_refunded
    ON counterfoil.redemption (code_id, reserved_at DESC, id DESC) WHERE status = 'refunded';
-- By the beginning of an address, too.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX redemption_of_a_buyer
    ON counterfoil.redemption (buyer_key text_pattern_ops, reserved_at DESC, id DESC);
