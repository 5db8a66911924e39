-- Hold a place without a checkout of ours: for a shop that keeps its own orders.
SELECT
    d.outcome, d.in_period, d.places, d.held, d.next_release_at, d.per_buyer_limit, d.starts_on, d.ends_on, d.asks,
    counterfoil.redemption_document(d.claim) AS claim,
    NULL AS sale
FROM counterfoil.reserve(
    id => :id::uuid, code => :code::text, version => NULL, product => :product::text,
    buyer => :buyer::text, buyer_key => :buyer_key::text, hold => :hold::interval,
    lock_timeout => :lock_timeout::interval, instead_of => NULL,
    mailbox_key => :mailbox_key::text
) AS d
