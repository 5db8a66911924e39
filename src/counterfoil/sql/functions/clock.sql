-- The one clock that decides. Everything that compares a time with now reads it here, and tests move it by
-- putting another function in its place.
CREATE FUNCTION counterfoil.clock() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE
AS $$ SELECT pg_catalog.clock_timestamp() $$;
