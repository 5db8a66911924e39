-- What the audit log is told of an institution's people: never a link, nor its token or digest.

-- What their entries are about: the institution.
CREATE FUNCTION counterfoil.portal_slug(of counterfoil.portal_member) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT i.slug FROM counterfoil.institution AS i WHERE i.id = of.institution_id
$$;

-- Who somebody is, as it may be shown.
CREATE FUNCTION counterfoil.portal_person(of counterfoil.portal_member) RETURNS jsonb
LANGUAGE sql IMMUTABLE
AS $$
    SELECT jsonb_build_object('member', of.id, 'name', nullif(of.name, ''), 'email', of.email)
$$;

-- A member who does something with a link, and so is not yet signed in.
CREATE FUNCTION counterfoil.portal_actor(of counterfoil.portal_member) RETURNS jsonb
LANGUAGE sql STABLE
AS $$
    SELECT jsonb_build_object(
        'kind', 'member', 'id', of.id::text,
        'name', coalesce(
            nullif(of.name, ''), of.email,
            (SELECT i.name FROM counterfoil.institution AS i WHERE i.id = of.institution_id)
        )
    )
$$;
