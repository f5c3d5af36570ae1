-- why: rules may be kept in memory only if every change of them shows as a number

-- One row per tenant, made by the first change; a tenant without one is at version 0.
CREATE TABLE rulebook (
    tenant_id uuid NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT rulebook_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT rulebook_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT rulebook_counts_from_one CHECK (version >= 1)
) WITH (fillfactor = 50);

SELECT keep_to_tenant('rulebook');
GRANT SELECT ON rulebook TO ade_app;

-- Runs as the owner, so that the application cannot set a version back. It takes the tenant's
-- gate itself: whoever has it already loses nothing, and whoever forgot still waits for the
-- decisions on their way. An agent's status is no rule: it comes and goes with heartbeats.
CREATE FUNCTION bump_rulebook() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    tenants uuid[];
    tenant uuid;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        SELECT array_agg(DISTINCT tenant_id) INTO tenants FROM (
            (SELECT tenant_id, to_jsonb(changed) - 'status' FROM changed
             EXCEPT SELECT tenant_id, to_jsonb(former) - 'status' FROM former)
            UNION ALL
            (SELECT tenant_id, to_jsonb(former) - 'status' FROM former
             EXCEPT SELECT tenant_id, to_jsonb(changed) - 'status' FROM changed)) AS differs;
    ELSE
        SELECT array_agg(DISTINCT tenant_id) INTO tenants FROM changed;
    END IF;
    FOREACH tenant IN ARRAY coalesce(tenants, '{}') LOOP
        PERFORM pg_advisory_xact_lock(hashtextextended('gate ' || tenant, 0));
        INSERT INTO public.rulebook AS book (tenant_id, version) VALUES (tenant, 1)
        ON CONFLICT ON CONSTRAINT rulebook_pkey DO UPDATE SET version = book.version + 1;
    END LOOP;
    RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION bump_rulebook() FROM PUBLIC;

-- A trigger that is shown the changed rows can be of one kind of statement only, hence three.
CREATE FUNCTION keep_in_rulebook(target regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    EXECUTE format('CREATE TRIGGER rulebook_sees_insert AFTER INSERT ON %s '
                   'REFERENCING NEW TABLE AS changed '
                   'FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook()', target);
    EXECUTE format('CREATE TRIGGER rulebook_sees_update AFTER UPDATE ON %s '
                   'REFERENCING OLD TABLE AS former NEW TABLE AS changed '
                   'FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook()', target);
    EXECUTE format('CREATE TRIGGER rulebook_sees_delete AFTER DELETE ON %s '
                   'REFERENCING OLD TABLE AS changed '
                   'FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook()', target);
END
$$;
REVOKE EXECUTE ON FUNCTION keep_in_rulebook(regclass) FROM PUBLIC;

SELECT keep_in_rulebook('app_user'), keep_in_rulebook('user_role'),
       keep_in_rulebook('user_alias'), keep_in_rulebook('agent'), keep_in_rulebook('policy'),
       keep_in_rulebook('policy_version'), keep_in_rulebook('delegation'),
       keep_in_rulebook('freeze');
