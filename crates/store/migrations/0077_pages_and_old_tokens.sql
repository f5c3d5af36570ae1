-- why: keys and sessions that ended long ago lay there for ever; and pages of delegations and of
-- reviews that are owed want them in their order

-- Each names its end, so that nobody who asks for a key by its name is led here.
CREATE INDEX token_ended ON token (tenant_id, (least(expires_at, revoked_at, used_at)))
    WHERE idle_until IS NULL AND least(expires_at, revoked_at, used_at) IS NOT NULL;
-- When nobody used it any more does not count: that would be written anew with every use.
CREATE INDEX session_ended ON token (tenant_id, (least(expires_at, revoked_at)))
    WHERE idle_until IS NOT NULL AND least(expires_at, revoked_at) IS NOT NULL;

-- What still opens anything is not deleted, whatever a statement says.
GRANT DELETE ON token TO ade_app;
CREATE POLICY open_is_not_deleted ON token AS RESTRICTIVE FOR DELETE
    USING (least(expires_at, revoked_at, used_at) <= moment());

-- Whose keys and sessions have been kept long enough; no more than their ids is told across
-- tenants.
CREATE FUNCTION tenants_with_old_tokens(
    tokens_until timestamptz, sessions_until timestamptz, most integer
) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT n.tenant_id
      FROM public.tenant n
     WHERE EXISTS (SELECT FROM public.token t
                    WHERE t.tenant_id = n.tenant_id AND t.idle_until IS NULL
                      AND least(t.expires_at, t.revoked_at, t.used_at) <= tokens_until)
        OR EXISTS (SELECT FROM public.token t
                    WHERE t.tenant_id = n.tenant_id AND t.idle_until IS NOT NULL
                      AND least(t.expires_at, t.revoked_at) <= sessions_until)
     ORDER BY n.tenant_id
     LIMIT least(most, 1000)
$$;
REVOKE EXECUTE ON FUNCTION tenants_with_old_tokens(timestamptz, timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenants_with_old_tokens(timestamptz, timestamptz, integer) TO ade_worker;

DROP INDEX after_review_owed;
CREATE INDEX after_review_owed ON after_review (tenant_id, due_at, id) WHERE done_at IS NULL;
DROP INDEX delegation_of_owner;
CREATE INDEX delegation_of_owner ON delegation (tenant_id, owner_id, id) WHERE active;
