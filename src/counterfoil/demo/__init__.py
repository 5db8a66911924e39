"""Everything on one machine: an embedded PostgreSQL, the simulator, the shop, and two schools to try."""
