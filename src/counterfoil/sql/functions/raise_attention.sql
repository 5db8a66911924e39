-- Put a matter before the seller, once. What is new about it goes into the same entry; if that was resolved, and there is
-- something new, it is open again, as of now.
CREATE FUNCTION counterfoil.raise_attention(kind text, subject text, detail jsonb) RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO counterfoil.attention AS a (kind, subject, detail, raised_at)
    VALUES (raise_attention.kind, raise_attention.subject, raise_attention.detail, counterfoil.clock())
    ON CONFLICT ON CONSTRAINT a_matter_is_listed_once DO UPDATE
    SET detail = excluded.detail, resolved_at = NULL,
        raised_at = CASE WHEN a.resolved_at IS NULL THEN a.raised_at ELSE excluded.raised_at END
    WHERE a.detail <> excluded.detail
$$;
