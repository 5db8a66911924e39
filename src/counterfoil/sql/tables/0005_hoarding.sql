-- Where a hold came from, so that one address cannot keep the last places of a code.

-- A keyed digest of the client's address, on public pages; forgotten after a day.
ALTER TABLE counterfoil.redemption ADD COLUMN origin text;

-- Not concurrently: a migration is one transaction, and no row has an origin yet, so there is one scan and no sort.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX redemption_by_origin
    ON counterfoil.redemption (counts_with, origin, reserved_at) WHERE origin IS NOT NULL;
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX redemption_with_origin ON counterfoil.redemption (reserved_at) WHERE origin IS NOT NULL;
