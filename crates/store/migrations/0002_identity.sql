-- why: people and agents, and the tokens and sessions they authenticate with

CREATE TABLE app_user (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    name text NOT NULL,
    email text,
    manager_id uuid,
    active boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT app_user_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT app_user_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT app_user_manager_exists FOREIGN KEY (tenant_id, manager_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT app_user_is_not_own_manager CHECK (manager_id <> id),
    CONSTRAINT app_user_subject_is_one_person UNIQUE (tenant_id, issuer, subject)
);
CREATE INDEX app_user_by_manager ON app_user (tenant_id, manager_id)
    WHERE manager_id IS NOT NULL;
CREATE INDEX app_user_by_subject ON app_user (issuer, subject);
SELECT keep_to_tenant('app_user');
CREATE POLICY owner_admits ON app_user FOR SELECT TO CURRENT_USER USING (true);
GRANT SELECT, INSERT, UPDATE ON app_user TO ade_app;

CREATE TABLE user_role (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    role text NOT NULL,
    granted_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT user_role_pkey PRIMARY KEY (tenant_id, user_id, role),
    CONSTRAINT user_role_user_exists FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT user_role_name_is_short CHECK (octet_length(role) BETWEEN 1 AND 128)
);
CREATE INDEX user_role_by_role ON user_role (tenant_id, role);
SELECT keep_to_tenant('user_role');
GRANT SELECT, INSERT, DELETE ON user_role TO ade_app;

-- The other account may be unknown here: an identity provider can name one that has never signed
-- in.
CREATE TABLE user_alias (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    alias_id uuid NOT NULL,
    CONSTRAINT user_alias_pkey PRIMARY KEY (tenant_id, user_id, alias_id),
    CONSTRAINT user_alias_user_exists FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT user_alias_is_another CHECK (alias_id <> user_id)
);
CREATE INDEX user_alias_by_alias ON user_alias (tenant_id, alias_id);
SELECT keep_to_tenant('user_alias');
GRANT SELECT, INSERT, DELETE ON user_alias TO ade_app;

CREATE TABLE agent (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    owner_id uuid NOT NULL,
    status text NOT NULL DEFAULT 'offline',
    capabilities jsonb NOT NULL DEFAULT '[]',
    registered_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    -- Part of the rulebook, like every column of an agent except its status.
    max_tasks integer NOT NULL DEFAULT 4,
    -- Part of the rulebook, because granting a permit checks it. `status` is the value that was
    -- last published.
    standing_order text,
    -- The current version, or 0 without a configuration. Heartbeats read it from the rulebook.
    config_version integer NOT NULL DEFAULT 0,
    CONSTRAINT agent_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT agent_owner_exists FOREIGN KEY (tenant_id, owner_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT agent_name_is_taken UNIQUE (tenant_id, name),
    CONSTRAINT agent_status_is_known
        CHECK (status IN ('active', 'late', 'offline', 'draining', 'paused')),
    CONSTRAINT agent_max_tasks_is_in_range CHECK (max_tasks BETWEEN 1 AND 10000),
    CONSTRAINT agent_order_is_known CHECK (standing_order IN ('drain', 'pause')),
    CONSTRAINT agent_config_version_is_natural CHECK (config_version >= 0)
);
CREATE INDEX agent_by_owner ON agent (tenant_id, owner_id);
SELECT keep_to_tenant('agent');
GRANT SELECT, INSERT, UPDATE ON agent TO ade_app;

CREATE TABLE token (
    tenant_id uuid NOT NULL,
    key_id text NOT NULL,
    user_id uuid,
    agent_id uuid,
    secret_hash bytea NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT moment(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    label text NOT NULL DEFAULT '',
    single_use boolean NOT NULL DEFAULT false,
    used_at timestamptz,
    -- A session is a token in a cookie. It is resolved and revoked like any other token, and it
    -- also expires when it is idle.
    idle_until timestamptz,
    signed_in_at timestamptz,
    address text,
    user_agent text,
    -- Networks from which the token may be used, in the notation of the core. NULL means any
    -- network; a default would become part of the row type that functions take. Sessions have no
    -- networks, because browsers move.
    networks text[],
    last_used_at timestamptz,
    CONSTRAINT token_pkey PRIMARY KEY (tenant_id, key_id),
    CONSTRAINT token_user_exists FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT token_agent_exists FOREIGN KEY (tenant_id, agent_id)
        REFERENCES agent (tenant_id, id),
    CONSTRAINT token_names_one_principal CHECK (num_nonnulls(user_id, agent_id) = 1),
    CONSTRAINT token_keeps_only_a_hash CHECK (octet_length(secret_hash) = 32),
    CONSTRAINT token_lives_90_days_at_most
        CHECK (expires_at > created_at AND expires_at <= created_at + interval '2160 hours'),
    CONSTRAINT token_label_is_short CHECK (octet_length(label) <= 128),
    CONSTRAINT token_use_is_marked_if_single CHECK (used_at IS NULL OR single_use),
    CONSTRAINT token_of_a_session_is_whole CHECK (
        num_nonnulls(idle_until, signed_in_at) IN (0, 2)),
    CONSTRAINT token_of_a_session_is_a_persons CHECK (
        idle_until IS NULL OR (user_id IS NOT NULL AND NOT single_use)),
    CONSTRAINT token_of_a_session_lives_12_hours_at_most CHECK (
        idle_until IS NULL OR expires_at <= signed_in_at + interval '12 hours'),
    CONSTRAINT token_networks_are_few CHECK (cardinality(networks) <= 16),
    CONSTRAINT token_of_a_session_has_no_networks CHECK (
        idle_until IS NULL OR networks IS NULL)
);
-- A token is resolved before its tenant is known, so a key id must identify one tenant.
CREATE UNIQUE INDEX token_key_id_names_one_tenant ON token (key_id);
CREATE INDEX token_by_user ON token (tenant_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX token_by_agent ON token (tenant_id, agent_id) WHERE agent_id IS NOT NULL;
-- Both indexes serve pruning. Their predicates name the end of the token, so that the planner does
-- not use them to find a token by its key.
CREATE INDEX token_ended ON token (tenant_id, (least(expires_at, revoked_at, used_at)))
    WHERE idle_until IS NULL AND least(expires_at, revoked_at, used_at) IS NOT NULL;
-- The end of an idle session is left out, because every use of the session would update the index.
CREATE INDEX session_ended ON token (tenant_id, (least(expires_at, revoked_at)))
    WHERE idle_until IS NOT NULL AND least(expires_at, revoked_at) IS NOT NULL;
SELECT keep_to_tenant('token');
-- Resolving a token is the only query that runs without a tenant. It runs as the owner, to whom
-- FORCE applies as well; hence a policy for the owner.
CREATE POLICY owner_resolves ON token FOR SELECT TO CURRENT_USER USING (true);
-- Consuming a single-use token also happens before the transaction of the tenant begins.
CREATE POLICY owner_consumes ON token FOR UPDATE TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY open_is_not_deleted ON token AS RESTRICTIVE FOR DELETE
    USING (least(expires_at, revoked_at, used_at) <= moment());
-- The policy above keeps valid tokens from being deleted.
GRANT SELECT, INSERT, UPDATE, DELETE ON token TO ade_app;

CREATE TABLE agent_config_version (
    tenant_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    version integer NOT NULL,
    config jsonb NOT NULL,
    set_by uuid NOT NULL,
    reason text,
    set_at timestamptz NOT NULL,
    CONSTRAINT agent_config_version_pkey PRIMARY KEY (tenant_id, agent_id, version),
    CONSTRAINT agent_config_version_agent_exists FOREIGN KEY (tenant_id, agent_id)
        REFERENCES agent (tenant_id, id),
    CONSTRAINT agent_config_version_author_exists FOREIGN KEY (tenant_id, set_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT agent_config_version_counts_from_one CHECK (version >= 1),
    CONSTRAINT agent_config_version_is_an_object CHECK (jsonb_typeof(config) = 'object')
);
SELECT keep_to_tenant('agent_config_version');
-- A version is immutable.
GRANT SELECT, INSERT ON agent_config_version TO ade_app;

CREATE FUNCTION token_is_open(token) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN $1.revoked_at IS NULL AND $1.expires_at > now() AND $1.used_at IS NULL
       AND ($1.idle_until IS NULL OR $1.idle_until > now());

-- A person has one session for each browser. The oldest sessions are revoked instead of refusing a
-- sign-in.
CREATE FUNCTION token_two_open_at_most() RETURNS trigger
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

CREATE FUNCTION consume_token(wanted text) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO pg_catalog, public, pg_temp
    AS $$
    WITH used AS (
        UPDATE public.token t SET used_at = public.moment()
         WHERE t.key_id = wanted AND t.single_use AND public.token_is_open(t)
        RETURNING t.key_id)
    SELECT EXISTS (SELECT FROM used)
$$;
REVOKE EXECUTE ON FUNCTION consume_token(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION consume_token(text) TO ade_app;

-- Records the use of a token whose secret was verified. It writes at most once in a while and skips
-- a row that is locked, because the next use will record it.
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

-- Returns which of the tokens are still valid, in one query for all sockets of a process.
CREATE FUNCTION open_tokens(wanted text[]) RETURNS SETOF text
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT t.key_id FROM public.token t
     WHERE t.key_id = ANY (wanted) AND public.token_is_open(t)
$$;
REVOKE EXECUTE ON FUNCTION open_tokens(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION open_tokens(text[]) TO ade_app, ade_worker;

-- Extends the idle timeout of a session whose secret was verified. It writes at most once in a
-- while.
CREATE FUNCTION keep_session(wanted text, idle interval, pace interval) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    UPDATE public.token t SET idle_until = now() + idle
     WHERE t.key_id = wanted AND t.idle_until < now() + idle - pace AND public.token_is_open(t)
$$;
REVOKE EXECUTE ON FUNCTION keep_session(text, interval, interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION keep_session(text, interval, interval) TO ade_app;

-- Lists the tenants with expired tokens and sessions to prune. Only tenant ids are returned across
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

CREATE TRIGGER token_two_open_at_most BEFORE INSERT ON token
    FOR EACH ROW EXECUTE FUNCTION token_two_open_at_most();
