-- Put a matter before the seller, once.
CREATE FUNCTION counterfoil.raise_attention(kind text, subject text, detail jsonb) RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO counterfoil.attention (kind, subject, detail)
    VALUES (raise_attention.kind, raise_attention.subject, raise_attention.detail)
    ON CONFLICT DO NOTHING
$$;
