-- A clock that can be moved forward, in the place of the real one: for tests and the demo. Never for selling.
CREATE TABLE IF NOT EXISTS counterfoil.clock_ahead (
    only_one    boolean PRIMARY KEY DEFAULT true CONSTRAINT there_is_one_clock CHECK (only_one),
    ahead       interval NOT NULL
);

INSERT INTO counterfoil.clock_ahead (ahead) VALUES (interval '0') ON CONFLICT DO NOTHING;

CREATE OR REPLACE FUNCTION counterfoil.clock() RETURNS timestamptz
LANGUAGE sql VOLATILE
AS $$ SELECT pg_catalog.clock_timestamp() + (SELECT ahead FROM counterfoil.clock_ahead) $$;
