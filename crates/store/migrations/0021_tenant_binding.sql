-- why: only an address that a provider has verified counts towards the limit that ends a sign-in
SET LOCAL lock_timeout = '1s';
SET LOCAL statement_timeout = '5s';

-- When an identity provider verified the address of the account. NULL if only an admin has entered
-- it; an account from before this column is verified again at its next sign-in.
ALTER TABLE app_user ADD COLUMN email_verified_at timestamptz;

-- Things that name no tenants serve the only tenant of the installation. The creation of a second
-- one is therefore a change to the rules of the first.
CREATE POLICY owner_notices ON rulebook FOR UPDATE TO CURRENT_USER
    USING (true) WITH CHECK (true);

-- Increments the rulebook version of the first tenant when the second one is created, under the
-- tenant lock of the first, so that decisions in progress finish before and later ones see both.
CREATE FUNCTION notice_second_tenant() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    others uuid[];
BEGIN
    -- Of two tenants that are created at the same time, the later one sees the other.
    PERFORM pg_advisory_xact_lock(hashtextextended('tenants', 0));
    SELECT array_agg(found.tenant_id) INTO others FROM (
        SELECT n.tenant_id FROM public.tenant n WHERE n.tenant_id <> new.tenant_id LIMIT 2) found;
    IF cardinality(others) = 1 THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('gate ' || others[1], 0));
        UPDATE public.rulebook SET version = version + 1 WHERE tenant_id = others[1];
    END IF;
    RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION notice_second_tenant() FROM PUBLIC;
CREATE TRIGGER second_tenant_is_noticed AFTER INSERT ON tenant
    FOR EACH ROW EXECUTE FUNCTION notice_second_tenant();
