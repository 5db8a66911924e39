-- What would be said to this buyer now. Holds nothing, locks nothing.
SELECT
    c.outcome, c.period AS in_period, c.places, c.held, c.next_release_at, c.per_buyer_limit, c.starts_on, c.ends_on,
    NULL AS asks, counterfoil.redemption_document(c.claim) AS claim, NULL AS sale
FROM counterfoil.consider(
    :code::text, NULL, :product::text, :buyer_key::text, (SELECT counterfoil.clock()),
    :mailbox_key::text
) AS c
