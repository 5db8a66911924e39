-- When two buyers are the same, and what is found when one of them is to be forgotten.

-- Fixed when the code is made: counts that were kept by one rule are not comparable under another. A code that counts with
-- another is under that one's.
ALTER TABLE counterfoil.code ADD COLUMN buyer_identity text NOT NULL DEFAULT 'address'
    CONSTRAINT an_identity_rule_is_known CHECK (buyer_identity IN ('address', 'mailbox'));

-- The buyer's mailbox, where the code counts by it. A claimant is that, or else the buyer.
ALTER TABLE counterfoil.redemption ADD COLUMN mailbox_key text;

-- A migration is one transaction, where no index can be made beside it.
-- squawk-ignore require-concurrent-index-deletion
DROP INDEX counterfoil.a_buyer_has_one_open_claim;
-- squawk-ignore require-concurrent-index-creation
CREATE UNIQUE INDEX a_buyer_has_one_open_claim
    ON counterfoil.redemption (counts_with, period, coalesce(mailbox_key, buyer_key)) WHERE status = 'reserved';
-- squawk-ignore require-concurrent-index-deletion
DROP INDEX counterfoil.redemption_by_buyer;
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX redemption_by_buyer ON counterfoil.redemption (counts_with, period, coalesce(mailbox_key, buyer_key))
    WHERE status IN ('reserved', 'pending', 'completed');
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX redemption_of_a_mailbox ON counterfoil.redemption (mailbox_key) WHERE mailbox_key IS NOT NULL;

-- A person's events are those of their redemptions and checkouts.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX event_of_a_subject ON counterfoil.event (subject);
