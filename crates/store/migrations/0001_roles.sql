-- why: everything later grants to these roles and is fenced to a tenant by these functions

-- Roles belong to the server, not to the database: another database may be making them now.
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

-- No tenant set, or set to nothing by an earlier transaction: no rows. The body is parsed here
-- and now, so that no search_path can lead it elsewhere.
CREATE FUNCTION current_tenant() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('ade.tenant', true), '')::uuid;

-- Sortable by time (version 7), for rows that nobody outside names before they exist.
CREATE FUNCTION uuid_v7() RETURNS uuid
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN encode(set_bit(set_bit(overlay(
        uuid_send(gen_random_uuid())
        PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
        FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid;

-- The one way a table comes under the tenant rule. FORCE: its owner is under it too.
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
