-- why: a stolen token may be worth nothing elsewhere, and its holder sees that it is used

-- Where it may be used from, as the core writes networks; anywhere, if none are named: a default
-- would be a part of the type that functions take. A session is a browser's, and browsers move.
ALTER TABLE token
    ADD COLUMN networks text[],
    ADD COLUMN last_used_at timestamptz,
    ADD CONSTRAINT token_networks_are_few CHECK (cardinality(networks) <= 16),
    ADD CONSTRAINT token_of_a_session_has_no_networks CHECK (
        idle_until IS NULL OR networks IS NULL);

-- Besides what it told before: the networks, and when its use was noted, if that was lately.
DROP FUNCTION resolve_token(text);
CREATE FUNCTION resolve_token(
    wanted text,
    pace interval DEFAULT interval '1 minute',
    OUT tenant_id uuid,
    OUT principal_kind text,
    OUT principal_id uuid,
    OUT owner_id uuid,
    OUT secret_hash bytea,
    OUT scopes text[],
    OUT expires_at timestamptz,
    OUT revoked_at timestamptz,
    OUT single_use boolean,
    OUT is_session boolean,
    OUT networks text[],
    OUT noted_at timestamptz,
    OUT is_live boolean
) RETURNS SETOF record
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER ROWS 1
    SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    earlier text := coalesce(current_setting('ade.tenant', true), '');
    found public.token;
BEGIN
    SELECT t.* INTO found FROM public.token t WHERE t.key_id = wanted;
    IF found.key_id IS NULL THEN
        RETURN;
    END IF;
    tenant_id := found.tenant_id;
    principal_kind := CASE WHEN found.agent_id IS NULL THEN 'user' ELSE 'agent' END;
    principal_id := coalesce(found.agent_id, found.user_id);
    secret_hash := found.secret_hash;
    scopes := found.scopes;
    expires_at := found.expires_at;
    revoked_at := found.revoked_at;
    single_use := found.single_use;
    is_session := found.idle_until IS NOT NULL;
    networks := coalesce(found.networks, '{}');
    IF found.last_used_at >= now() - pace THEN
        noted_at := found.last_used_at;
    END IF;
    PERFORM set_config('ade.tenant', found.tenant_id::text, true);
    SELECT a.owner_id INTO owner_id FROM public.agent a
     WHERE a.tenant_id = found.tenant_id AND a.id = found.agent_id;
    is_live := public.token_is_open(found)
        AND EXISTS (SELECT FROM public.tenant n
                     WHERE n.tenant_id = found.tenant_id AND n.active)
        AND EXISTS (SELECT FROM public.app_user u
                     WHERE u.tenant_id = found.tenant_id AND u.active
                       AND u.id = coalesce(owner_id, found.user_id))
        AND NOT EXISTS (SELECT FROM public.agent a
                         WHERE a.tenant_id = found.tenant_id AND a.id = found.agent_id
                           AND a.revoked_at IS NOT NULL);
    PERFORM set_config('ade.tenant', earlier, true);
    RETURN NEXT;
END
$$;
REVOKE EXECUTE ON FUNCTION resolve_token(text, interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION resolve_token(text, interval) TO ade_app;

-- A token was used, and its secret was right. Most uses find that it was noted lately; a row that
-- somebody else has in hand is not waited for, since the next use will do.
CREATE FUNCTION note_token_use(wanted text, pace interval) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    UPDATE public.token t SET last_used_at = now()
      FROM (SELECT c.key_id FROM public.token c
             WHERE c.key_id = wanted
               AND (c.last_used_at IS NULL OR c.last_used_at < now() - pace)
               FOR NO KEY UPDATE SKIP LOCKED) AS free
     WHERE t.key_id = free.key_id
$$;
REVOKE EXECUTE ON FUNCTION note_token_use(text, interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION note_token_use(text, interval) TO ade_app;
