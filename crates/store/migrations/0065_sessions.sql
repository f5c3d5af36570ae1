-- why: people sign in with an identity provider, and a browser holds a session instead of a token

-- A session is a token that lies in a cookie: it is looked up, revoked and asked after by sockets
-- like any other. It also ends when nobody uses it.
ALTER TABLE token
    ADD COLUMN idle_until timestamptz,
    ADD COLUMN signed_in_at timestamptz,
    ADD COLUMN address text,
    ADD COLUMN user_agent text,
    ADD CONSTRAINT token_of_a_session_is_whole CHECK (
        num_nonnulls(idle_until, signed_in_at) IN (0, 2)),
    ADD CONSTRAINT token_of_a_session_is_a_persons CHECK (
        idle_until IS NULL OR (user_id IS NOT NULL AND NOT single_use)),
    ADD CONSTRAINT token_of_a_session_lives_12_hours_at_most CHECK (
        idle_until IS NULL OR expires_at <= signed_in_at + interval '12 hours');

CREATE OR REPLACE FUNCTION token_is_open(token) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN $1.revoked_at IS NULL AND $1.expires_at > now() AND $1.used_at IS NULL
       AND ($1.idle_until IS NULL OR $1.idle_until > now());

-- Sessions are many: one for each browser. The oldest give way instead of refusing a person entry.
CREATE OR REPLACE FUNCTION token_two_open_at_most() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF NEW.idle_until IS NOT NULL THEN
        RETURN NEW;
    END IF;
    PERFORM FROM public.app_user u
      WHERE u.tenant_id = NEW.tenant_id AND u.id = NEW.user_id FOR NO KEY UPDATE;
    PERFORM FROM public.agent a
      WHERE a.tenant_id = NEW.tenant_id AND a.id = NEW.agent_id FOR NO KEY UPDATE;
    IF 2 <= (SELECT count(*) FROM public.token t
              WHERE t.tenant_id = NEW.tenant_id AND public.token_is_open(t)
                AND t.idle_until IS NULL
                AND (t.user_id = NEW.user_id OR t.agent_id = NEW.agent_id))
    THEN
        RAISE EXCEPTION '% has two tokens already', coalesce(NEW.user_id, NEW.agent_id)
            USING ERRCODE = 'check_violation', CONSTRAINT = 'token_two_open_at_most',
                  TABLE = 'token';
    END IF;
    RETURN NEW;
END
$$;

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
    OUT is_session boolean,
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

-- Somebody is at work with this session, whose secret was compared: it stays a while longer. Most
-- uses find that it was told lately, and write nothing.
CREATE FUNCTION keep_session(wanted text, idle interval, pace interval) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    UPDATE public.token t SET idle_until = now() + idle
     WHERE t.key_id = wanted AND t.idle_until < now() + idle - pace AND public.token_is_open(t)
$$;
REVOKE EXECUTE ON FUNCTION keep_session(text, interval, interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION keep_session(text, interval, interval) TO ade_app;

-- Which groups of an identity provider make somebody what here.
CREATE TABLE group_role (
    tenant_id uuid NOT NULL,
    issuer text NOT NULL,
    group_name text NOT NULL,
    role text NOT NULL,
    CONSTRAINT group_role_pkey PRIMARY KEY (tenant_id, issuer, group_name, role),
    CONSTRAINT group_role_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT group_role_issuer_is_short CHECK (octet_length(issuer) BETWEEN 1 AND 256),
    CONSTRAINT group_role_group_is_short CHECK (octet_length(group_name) BETWEEN 1 AND 256),
    CONSTRAINT group_role_name_is_short CHECK (octet_length(role) BETWEEN 1 AND 128)
);
CREATE INDEX group_role_by_group ON group_role (issuer, group_name);
SELECT keep_to_tenant('group_role');
GRANT SELECT, INSERT, DELETE ON group_role TO ade_app;

-- Where somebody who has just proved who they are may go: tenants that know them, and tenants
-- that let one of their groups in.
CREATE POLICY owner_admits ON group_role FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY owner_admits ON app_user FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY owner_admits ON tenant FOR SELECT TO CURRENT_USER USING (true);
CREATE INDEX app_user_by_subject ON app_user (issuer, subject);
CREATE FUNCTION tenants_of_subject(wanted_issuer text, wanted_subject text, groups text[])
    RETURNS TABLE (tenant uuid, name text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT n.tenant_id, n.name FROM public.tenant n
     WHERE n.active AND NOT EXISTS (
               SELECT FROM public.app_user u
                WHERE u.tenant_id = n.tenant_id AND u.issuer = wanted_issuer
                  AND u.subject = wanted_subject AND NOT u.active)
       AND n.tenant_id IN (
               SELECT u.tenant_id FROM public.app_user u
                WHERE u.issuer = wanted_issuer AND u.subject = wanted_subject
               UNION
               SELECT g.tenant_id FROM public.group_role g
                WHERE g.issuer = wanted_issuer AND g.group_name = ANY (groups))
     ORDER BY n.name, n.tenant_id
$$;
REVOKE EXECUTE ON FUNCTION tenants_of_subject(text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenants_of_subject(text, text, text[]) TO ade_app;

-- A browser that is away at its identity provider. It belongs to no tenant yet, and nobody reads
-- it but by the secret that the browser holds; of that only a hash.
CREATE TABLE sign_in (
    hash bytea NOT NULL,
    provider text NOT NULL,
    nonce text NOT NULL,
    verifier text NOT NULL,
    return_to text NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT sign_in_pkey PRIMARY KEY (hash),
    CONSTRAINT sign_in_hash_is_sha256 CHECK (octet_length(hash) = 32)
);
CREATE INDEX sign_in_expired ON sign_in (expires_at);
ALTER TABLE sign_in ENABLE ROW LEVEL SECURITY;
ALTER TABLE sign_in FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_keeps ON sign_in TO CURRENT_USER USING (true) WITH CHECK (true);

-- Old ones go with each new one, some at a time.
CREATE FUNCTION begin_sign_in(
    hash bytea, provider text, nonce text, verifier text, return_to text, valid_for interval
) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    WITH old AS (
        DELETE FROM public.sign_in s WHERE s.hash IN (
            SELECT o.hash FROM public.sign_in o WHERE o.expires_at <= now()
             ORDER BY o.expires_at LIMIT 100 FOR UPDATE SKIP LOCKED))
    INSERT INTO public.sign_in VALUES ($1, $2, $3, $4, $5, now() + $6)
$$;
REVOKE EXECUTE ON FUNCTION begin_sign_in(bytea, text, text, text, text, interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION begin_sign_in(bytea, text, text, text, text, interval) TO ade_app;

-- Once, and in time.
CREATE FUNCTION end_sign_in(
    wanted bytea, OUT provider text, OUT nonce text, OUT verifier text, OUT return_to text
) RETURNS SETOF record
    LANGUAGE sql VOLATILE SECURITY DEFINER ROWS 1
    SET search_path = pg_catalog, public, pg_temp
AS $$
    WITH taken AS (DELETE FROM public.sign_in s WHERE s.hash = wanted RETURNING s.*)
    SELECT t.provider, t.nonce, t.verifier, t.return_to FROM taken t WHERE t.expires_at > now()
$$;
REVOKE EXECUTE ON FUNCTION end_sign_in(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION end_sign_in(bytea) TO ade_app;
