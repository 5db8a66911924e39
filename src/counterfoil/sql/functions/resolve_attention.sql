-- A person has seen to a matter. Once is enough: a second time changes nothing. No row: there is no such matter.
CREATE FUNCTION counterfoil.resolve_attention(id bigint) RETURNS SETOF counterfoil.attention
LANGUAGE plpgsql
AS $$
DECLARE
    matter counterfoil.attention;
BEGIN
    SELECT a.* INTO matter FROM counterfoil.attention AS a WHERE a.id = resolve_attention.id FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF matter.resolved_at IS NULL THEN
        UPDATE counterfoil.attention AS a SET resolved_at = counterfoil.clock()
        WHERE a.id = resolve_attention.id
        RETURNING a.* INTO matter;
        PERFORM counterfoil.keep_record('attention.resolved', matter.kind || ' ' || matter.subject, NULL, NULL);
    END IF;
    RETURN NEXT matter;
END
$$;
