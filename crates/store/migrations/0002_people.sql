-- why: people, agents and their tokens come before anything they can do

CREATE TABLE tenant (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    active boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT tenant_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT tenant_name_is_short CHECK (octet_length(name) BETWEEN 1 AND 128)
);

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

-- The other account need not be known here: an identity provider may name one that never came.
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

CREATE TABLE agent (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    owner_id uuid NOT NULL,
    status text NOT NULL DEFAULT 'offline',
    capabilities jsonb NOT NULL DEFAULT '[]',
    registered_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    CONSTRAINT agent_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT agent_owner_exists FOREIGN KEY (tenant_id, owner_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT agent_name_is_taken UNIQUE (tenant_id, name),
    CONSTRAINT agent_status_is_known
        CHECK (status IN ('active', 'late', 'offline', 'draining', 'paused'))
);
CREATE INDEX agent_by_owner ON agent (tenant_id, owner_id);

CREATE TABLE token (
    tenant_id uuid NOT NULL,
    key_id text NOT NULL,
    user_id uuid,
    agent_id uuid,
    secret_hash bytea NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    CONSTRAINT token_pkey PRIMARY KEY (tenant_id, key_id),
    CONSTRAINT token_user_exists FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT token_agent_exists FOREIGN KEY (tenant_id, agent_id)
        REFERENCES agent (tenant_id, id),
    CONSTRAINT token_names_one_principal CHECK (num_nonnulls(user_id, agent_id) = 1),
    CONSTRAINT token_keeps_only_a_hash CHECK (octet_length(secret_hash) = 32),
    CONSTRAINT token_lives_90_days_at_most
        CHECK (expires_at > created_at AND expires_at <= created_at + interval '2160 hours')
);
-- Looked up before the tenant is known; one key id must lead to one tenant.
CREATE UNIQUE INDEX token_key_id_names_one_tenant ON token (key_id);
CREATE INDEX token_by_user ON token (tenant_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX token_by_agent ON token (tenant_id, agent_id) WHERE agent_id IS NOT NULL;

SELECT keep_to_tenant('tenant'), keep_to_tenant('app_user'), keep_to_tenant('user_role'),
       keep_to_tenant('user_alias'), keep_to_tenant('agent'), keep_to_tenant('token');

-- Tenants are made by whoever runs the installation, not by the application.
GRANT SELECT ON tenant TO ade_app;
GRANT SELECT, INSERT, UPDATE ON app_user, agent, token TO ade_app;
GRANT SELECT, INSERT, DELETE ON user_role, user_alias TO ade_app;

-- Who presents this key, across tenants: the only question that may be asked without one. It
-- runs as the owner, whom FORCE binds too, hence the policy for the owner alone.
CREATE POLICY owner_resolves ON token FOR SELECT TO CURRENT_USER USING (true);
CREATE FUNCTION resolve_token(
    wanted text,
    OUT tenant_id uuid,
    OUT principal_kind text,
    OUT principal_id uuid,
    OUT secret_hash bytea,
    OUT scopes text[],
    OUT expires_at timestamptz,
    OUT revoked_at timestamptz
) RETURNS SETOF record
    LANGUAGE sql STABLE SECURITY DEFINER ROWS 1
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT t.tenant_id,
           CASE WHEN t.agent_id IS NULL THEN 'user' ELSE 'agent' END,
           coalesce(t.agent_id, t.user_id),
           t.secret_hash, t.scopes, t.expires_at, t.revoked_at
      FROM public.token t
     WHERE t.key_id = wanted
$$;
REVOKE EXECUTE ON FUNCTION resolve_token(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION resolve_token(text) TO ade_app;
