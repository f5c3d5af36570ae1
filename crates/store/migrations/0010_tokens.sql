-- why: tokens have names, a limit per holder, and one kind that opens the door only once

ALTER TABLE token
    ADD COLUMN label text NOT NULL DEFAULT '',
    ADD COLUMN single_use boolean NOT NULL DEFAULT false,
    ADD COLUMN used_at timestamptz,
    ADD CONSTRAINT token_label_is_short CHECK (octet_length(label) <= 128),
    ADD CONSTRAINT token_use_is_marked_if_single CHECK (used_at IS NULL OR single_use);

CREATE FUNCTION token_is_open(token) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN $1.revoked_at IS NULL AND $1.expires_at > now() AND $1.used_at IS NULL;

-- One in use and one to change over to. The holder's row is locked first, and a statement of a
-- function sees what was committed while the one before it waited.
CREATE FUNCTION token_two_open_at_most() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM FROM public.app_user u
      WHERE u.tenant_id = NEW.tenant_id AND u.id = NEW.user_id FOR NO KEY UPDATE;
    PERFORM FROM public.agent a
      WHERE a.tenant_id = NEW.tenant_id AND a.id = NEW.agent_id FOR NO KEY UPDATE;
    IF 2 <= (SELECT count(*) FROM public.token t
              WHERE t.tenant_id = NEW.tenant_id AND public.token_is_open(t)
                AND (t.user_id = NEW.user_id OR t.agent_id = NEW.agent_id))
    THEN
        RAISE EXCEPTION '% has two tokens already', coalesce(NEW.user_id, NEW.agent_id)
            USING ERRCODE = 'check_violation', CONSTRAINT = 'token_two_open_at_most',
                  TABLE = 'token';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER token_two_open_at_most BEFORE INSERT ON token
    FOR EACH ROW EXECUTE FUNCTION token_two_open_at_most();

-- Besides the token, whether it opens anything now, by this server's clock: an account that was
-- closed closes all of its tokens. Only the token is looked up across tenants; the rest is read
-- under the tenant that it names.
DROP FUNCTION resolve_token(text);
CREATE FUNCTION resolve_token(
    wanted text,
    OUT tenant_id uuid,
    OUT principal_kind text,
    OUT principal_id uuid,
    OUT owner_id uuid,
    OUT secret_hash bytea,
    OUT scopes text[],
    OUT expires_at timestamptz,
    OUT revoked_at timestamptz,
    OUT single_use boolean,
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
REVOKE EXECUTE ON FUNCTION resolve_token(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION resolve_token(text) TO ade_app;

-- The one use of a single-use token: true for the first who asks, whoever asks at once. It is
-- asked before the tenant's transaction, like the question above.
CREATE POLICY owner_consumes ON token FOR UPDATE TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE FUNCTION consume_token(wanted text) RETURNS boolean
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    WITH used AS (
        UPDATE public.token t SET used_at = now()
         WHERE t.key_id = wanted AND t.single_use AND public.token_is_open(t)
        RETURNING t.key_id)
    SELECT EXISTS (SELECT FROM used)
$$;
REVOKE EXECUTE ON FUNCTION consume_token(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION consume_token(text) TO ade_app;
