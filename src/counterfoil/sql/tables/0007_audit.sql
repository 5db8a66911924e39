-- Who changed what: written by the transaction that made the change, and never changed itself.

CREATE TABLE counterfoil.audit (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          timestamptz NOT NULL,
    actor_kind  text NOT NULL,
    actor_id    text,
    actor_name  text NOT NULL,
    action      text NOT NULL,
    subject     text NOT NULL,
    -- What was different before and after, without secrets.
    before      jsonb,
    after       jsonb
);

CREATE INDEX audit_of_a_subject ON counterfoil.audit (subject, id DESC);
CREATE INDEX audit_of_an_action ON counterfoil.audit (action, id DESC);

-- What the triggers do is in sql/functions/, and put in the place of these bodies at the end of this very migrate.
CREATE FUNCTION counterfoil.keep_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE FUNCTION counterfoil.must_only_grow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;

-- The small tables that people write to. A statement that forgets to tell of itself is told of all the same. None of
-- them is written to by a purchase.
CREATE TRIGGER institution_is_audited AFTER INSERT OR UPDATE OR DELETE ON counterfoil.institution
    FOR EACH ROW EXECUTE FUNCTION counterfoil.keep_change('institution', 'slug');
CREATE TRIGGER product_is_audited AFTER INSERT OR UPDATE OR DELETE ON counterfoil.product
    FOR EACH ROW EXECUTE FUNCTION counterfoil.keep_change('product', 'id');
CREATE TRIGGER code_is_audited AFTER INSERT OR UPDATE OR DELETE ON counterfoil.code
    FOR EACH ROW EXECUTE FUNCTION counterfoil.keep_change('code', 'code');
CREATE TRIGGER api_key_is_audited AFTER INSERT OR UPDATE OR DELETE ON counterfoil.api_key
    FOR EACH ROW EXECUTE FUNCTION counterfoil.keep_change('key', 'hint');
CREATE TRIGGER webhook_endpoint_is_audited AFTER INSERT OR UPDATE OR DELETE ON counterfoil.webhook_endpoint
    FOR EACH ROW EXECUTE FUNCTION counterfoil.keep_change('webhook-endpoint', 'url');
CREATE TRIGGER account_is_audited AFTER INSERT OR UPDATE OR DELETE ON counterfoil.account
    FOR EACH ROW EXECUTE FUNCTION counterfoil.keep_change('account', 'email');

CREATE TRIGGER audit_only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON counterfoil.audit
    FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.must_only_grow();
