-- why: every other table is granted to these roles and isolated by tenant with these functions

-- Roles belong to the PostgreSQL server, not to the database, so another database may be creating
-- them at the same time.
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['ade_app', 'ade_worker'] LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
                EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB '
                               'NOCREATEROLE NOREPLICATION', wanted);
            END IF;
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN NULL;
        END;
    END LOOP;
END
$$;

REVOKE CREATE ON SCHEMA public FROM PUBLIC;

GRANT USAGE ON SCHEMA public TO ade_app, ade_worker;

-- Returns NULL, which matches no row, if no tenant is set or if an earlier transaction cleared it.
-- The body is parsed when the function is created, so no search_path can redirect it.
CREATE FUNCTION current_tenant() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('ade.tenant', true), '')::uuid;

-- Generates a time-ordered identifier (version 7) for rows whose id is not chosen by the
-- application.
CREATE FUNCTION uuid_v7() RETURNS uuid
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN encode(set_bit(set_bit(overlay(
        uuid_send(gen_random_uuid())
        PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
        FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid;

-- Returns the current time rather than the start of the transaction, because a transaction may have
-- waited for a lock.
CREATE FUNCTION moment() RETURNS timestamptz
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN clock_timestamp();

-- Enables tenant isolation on a table. FORCE applies the policy to the owner of the table as well.
CREATE FUNCTION keep_to_tenant(target regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', target);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', target);
    EXECUTE format('CREATE POLICY own_tenant ON %s USING (tenant_id = public.current_tenant()) '
                   'WITH CHECK (tenant_id = public.current_tenant())', target);
END
$$;
REVOKE EXECUTE ON FUNCTION keep_to_tenant(regclass) FROM PUBLIC;

CREATE TABLE tenant (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    active boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT tenant_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT tenant_name_is_short CHECK (octet_length(name) BETWEEN 1 AND 128)
);
SELECT keep_to_tenant('tenant');
CREATE POLICY owner_lists ON tenant FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY owner_admits ON tenant FOR SELECT TO CURRENT_USER USING (true);
-- Tenants are created by the operator of the installation, not by the application.
GRANT SELECT ON tenant TO ade_app;

-- Row security shows the application its own tenant only, so the owner answers this question. Only
-- yes or no comes out, and at most two rows are read.
CREATE FUNCTION has_several_tenants() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT EXISTS (SELECT FROM public.tenant OFFSET 1)
$$;
REVOKE EXECUTE ON FUNCTION has_several_tenants() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION has_several_tenants() TO ade_app;
