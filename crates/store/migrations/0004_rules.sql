-- why: policies, resources, freezes and settings decide who must approve a task

CREATE TABLE resource (
    tenant_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    criticality smallint,
    environment text,
    tags text[] NOT NULL DEFAULT '{}',
    owner_id uuid,
    block_on_unknown boolean NOT NULL DEFAULT true,
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT resource_pkey PRIMARY KEY (tenant_id, name),
    CONSTRAINT resource_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT resource_owner_exists FOREIGN KEY (tenant_id, owner_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT resource_name_is_type_and_id CHECK (
        name ~ '^[a-z0-9_-]{1,64}:[!-~]+$' AND length(name) - strpos(name, ':') <= 256),
    CONSTRAINT resource_criticality_is_a_score CHECK (criticality BETWEEN 0 AND 100)
);
CREATE INDEX resource_by_owner ON resource (tenant_id, owner_id) WHERE owner_id IS NOT NULL;
SELECT keep_to_tenant('resource');
GRANT SELECT, INSERT, UPDATE, DELETE ON resource TO ade_app;

CREATE TABLE resource_dependency (
    tenant_id uuid NOT NULL,
    resource text COLLATE "C" NOT NULL,
    dependent text COLLATE "C" NOT NULL,
    CONSTRAINT resource_dependency_pkey PRIMARY KEY (tenant_id, resource, dependent),
    CONSTRAINT resource_dependency_resource_exists FOREIGN KEY (tenant_id, resource)
        REFERENCES resource (tenant_id, name),
    CONSTRAINT resource_dependency_dependent_exists FOREIGN KEY (tenant_id, dependent)
        REFERENCES resource (tenant_id, name),
    CONSTRAINT resource_dependency_is_of_another CHECK (dependent <> resource)
);
CREATE INDEX resource_dependency_by_dependent ON resource_dependency (tenant_id, dependent);
SELECT keep_to_tenant('resource_dependency');
GRANT SELECT, INSERT, DELETE ON resource_dependency TO ade_app;

CREATE TABLE "freeze" (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    scope text NOT NULL,
    target text,
    reason text NOT NULL,
    set_by uuid NOT NULL,
    set_at timestamptz NOT NULL,
    ends_at timestamptz,
    lifted_by uuid,
    lifted_at timestamptz,
    CONSTRAINT freeze_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT freeze_setter_exists FOREIGN KEY (tenant_id, set_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT freeze_lifter_exists FOREIGN KEY (tenant_id, lifted_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT freeze_scope_is_known CHECK (scope IN ('tenant', 'environment', 'resources')),
    CONSTRAINT freeze_scope_has_its_target CHECK ((scope = 'tenant') = (target IS NULL)),
    CONSTRAINT freeze_is_lifted_by_a_person CHECK ((lifted_at IS NULL) = (lifted_by IS NULL)),
    CONSTRAINT freeze_reason_is_given CHECK (octet_length(reason) BETWEEN 1 AND 4096)
);
CREATE INDEX freeze_in_force ON "freeze" (tenant_id, id) WHERE lifted_at IS NULL;
SELECT keep_to_tenant('freeze');
GRANT SELECT, INSERT, UPDATE ON "freeze" TO ade_app;

CREATE TABLE policy (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    enabled boolean NOT NULL DEFAULT true,
    current_version integer,
    CONSTRAINT policy_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT policy_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT policy_name_is_taken UNIQUE (tenant_id, name)
);
SELECT keep_to_tenant('policy');
GRANT SELECT, INSERT, UPDATE ON policy TO ade_app;

CREATE TABLE policy_version (
    tenant_id uuid NOT NULL,
    policy_id uuid NOT NULL,
    version integer NOT NULL,
    document json NOT NULL,
    proposed_by uuid NOT NULL,
    confirmed_by uuid NOT NULL,
    published_at timestamptz NOT NULL,
    CONSTRAINT policy_version_pkey PRIMARY KEY (tenant_id, policy_id, version),
    CONSTRAINT policy_version_policy_exists FOREIGN KEY (tenant_id, policy_id)
        REFERENCES policy (tenant_id, id),
    CONSTRAINT policy_version_proposer_exists FOREIGN KEY (tenant_id, proposed_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT policy_version_confirmer_exists FOREIGN KEY (tenant_id, confirmed_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT policy_version_counts_from_one CHECK (version >= 1),
    CONSTRAINT policy_version_has_two_admins CHECK (confirmed_by <> proposed_by)
);
SELECT keep_to_tenant('policy_version');
-- A version is published once and is immutable.
GRANT SELECT, INSERT ON policy_version TO ade_app;

CREATE TABLE delegation (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    owner_id uuid NOT NULL,
    delegate_to uuid NOT NULL,
    kind text NOT NULL,
    conditions json NOT NULL,
    cascades boolean NOT NULL,
    starts_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    active boolean NOT NULL DEFAULT true,
    CONSTRAINT delegation_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT delegation_owner_exists FOREIGN KEY (tenant_id, owner_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT delegation_delegate_exists FOREIGN KEY (tenant_id, delegate_to)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT delegation_kind_is_known CHECK (kind IN ('transfer', 'follow')),
    CONSTRAINT delegation_is_to_another CHECK (delegate_to <> owner_id),
    CONSTRAINT delegation_ends_after_it_starts CHECK (expires_at > starts_at)
);
CREATE INDEX delegation_of_owner ON delegation (tenant_id, owner_id, id) WHERE active;
SELECT keep_to_tenant('delegation');
GRANT SELECT, INSERT, UPDATE ON delegation TO ade_app;

-- One row for each tenant, created by the first change. A tenant without a row is at version 0.
CREATE TABLE rulebook (
    tenant_id uuid NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT rulebook_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT rulebook_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT rulebook_counts_from_one CHECK (version >= 1)
) WITH (fillfactor = 50);
SELECT keep_to_tenant('rulebook');
-- Returns the rulebook versions of the tenants, and nothing of their contents.
CREATE POLICY owner_compares ON rulebook FOR SELECT TO CURRENT_USER USING (true);
GRANT SELECT ON rulebook TO ade_app;

CREATE TABLE policy_draft (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    -- The policy that the draft changes, or the id of the policy that it would create.
    policy_id uuid NOT NULL,
    base_version integer NOT NULL,
    document json NOT NULL,
    reason text,
    proposed_by uuid NOT NULL,
    proposed_at timestamptz NOT NULL,
    outcome text,
    closed_by uuid,
    closed_at timestamptz,
    CONSTRAINT policy_draft_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT policy_draft_proposer_exists FOREIGN KEY (tenant_id, proposed_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT policy_draft_closer_exists FOREIGN KEY (tenant_id, closed_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT policy_draft_base_is_natural CHECK (base_version >= 0),
    CONSTRAINT policy_draft_outcome_is_known CHECK (outcome IN ('published', 'withdrawn')),
    CONSTRAINT policy_draft_is_closed_by_a_person CHECK (
        num_nonnulls(outcome, closed_by, closed_at) IN (0, 3)),
    CONSTRAINT policy_draft_reason_is_bounded CHECK (octet_length(reason) <= 4096)
);
CREATE INDEX policy_draft_open ON policy_draft (tenant_id, id) WHERE closed_at IS NULL;
SELECT keep_to_tenant('policy_draft');
GRANT SELECT, INSERT, UPDATE ON policy_draft TO ade_app;

-- All versions are kept, so that earlier assessments remain explainable.
CREATE TABLE risk_setting (
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    document json NOT NULL,
    set_by uuid NOT NULL,
    set_at timestamptz NOT NULL,
    CONSTRAINT risk_setting_pkey PRIMARY KEY (tenant_id, version),
    CONSTRAINT risk_setting_setter_exists FOREIGN KEY (tenant_id, set_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT risk_setting_counts_from_one CHECK (version >= 1)
);
SELECT keep_to_tenant('risk_setting');
GRANT SELECT, INSERT ON risk_setting TO ade_app;

-- A flag without a row is disabled.
CREATE TABLE feature_flag (
    tenant_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    enabled boolean NOT NULL,
    set_by uuid NOT NULL,
    set_at timestamptz NOT NULL,
    CONSTRAINT feature_flag_pkey PRIMARY KEY (tenant_id, name),
    CONSTRAINT feature_flag_setter_exists FOREIGN KEY (tenant_id, set_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT feature_flag_is_known CHECK (
        name IN ('auto_approve_low_risk', 'batch_approvals', 'deadlock_detection'))
);
SELECT keep_to_tenant('feature_flag');
GRANT SELECT, INSERT, UPDATE ON feature_flag TO ade_app;

-- All versions are kept, so that the end of an earlier review remains explainable.
CREATE TABLE time_setting (
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    document json NOT NULL,
    set_by uuid NOT NULL,
    set_at timestamptz NOT NULL,
    CONSTRAINT time_setting_pkey PRIMARY KEY (tenant_id, version),
    CONSTRAINT time_setting_setter_exists FOREIGN KEY (tenant_id, set_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT time_setting_counts_from_one CHECK (version >= 1)
);
SELECT keep_to_tenant('time_setting');
GRANT SELECT, INSERT ON time_setting TO ade_app;

-- A freeze of the whole installation. It is set and lifted over the owner's connection; the
-- application can only read whether one is active. Lifted freezes are kept as history.
CREATE TABLE installation_freeze (
    number bigint GENERATED ALWAYS AS IDENTITY,
    reason text NOT NULL,
    -- The operating-system account of the operator, not an account of a tenant.
    set_by text NOT NULL,
    set_at timestamptz NOT NULL,
    lifted_by text,
    lifted_at timestamptz,
    lifted_because text,
    CONSTRAINT installation_freeze_pkey PRIMARY KEY (number),
    CONSTRAINT installation_freeze_reason_is_short CHECK (octet_length(reason) BETWEEN 1 AND 1024),
    CONSTRAINT installation_freeze_is_set_by_a_person CHECK (
        octet_length(set_by) BETWEEN 1 AND 128),
    CONSTRAINT installation_freeze_is_lifted_by_a_person CHECK (
        num_nonnulls(lifted_by, lifted_at, lifted_because) IN (0, 3)
        AND octet_length(lifted_by) BETWEEN 1 AND 128
        AND octet_length(lifted_because) BETWEEN 1 AND 1024)
);
-- At most one freeze is active. The index also finds it.
CREATE UNIQUE INDEX installation_freeze_in_force ON installation_freeze ((lifted_at IS NULL))
    WHERE lifted_at IS NULL;
ALTER TABLE installation_freeze ENABLE ROW LEVEL SECURITY;
ALTER TABLE installation_freeze FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_keeps ON installation_freeze TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY everybody_sees ON installation_freeze FOR SELECT TO ade_app USING (true);
GRANT SELECT ON installation_freeze TO ade_app;

ALTER TABLE policy ADD CONSTRAINT policy_current_version_exists
    FOREIGN KEY (tenant_id, id, current_version)
    REFERENCES policy_version (tenant_id, policy_id, version);

-- Increments the rulebook version. It runs as the owner, so that the application cannot decrease
-- the version, and takes the exclusive tenant lock, so that decisions in progress finish first. The
-- status of an agent is not a rule: heartbeats change it.
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

-- A trigger with transition tables can be for one kind of statement only, hence three triggers.
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

CREATE FUNCTION rulebook_versions(wanted uuid[])
    RETURNS TABLE (tenant uuid, version bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT b.tenant_id, b.version FROM public.rulebook b WHERE b.tenant_id = ANY (wanted)
$$;
REVOKE EXECUTE ON FUNCTION rulebook_versions(uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rulebook_versions(uuid[]) TO ade_app, ade_worker;

-- The advisory lock of the installation. Every permit takes it shared; a freeze takes it
-- exclusively and thereby waits for permits in progress.
CREATE FUNCTION installation_gate() RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended('gate of the installation', 0);

-- Takes the lock of the installation for a permit until its transaction ends, and returns the
-- active freeze. The second read begins after the lock was granted.
CREATE FUNCTION pass_installation_gate(
    OUT number bigint, OUT reason text, OUT set_by text, OUT set_at timestamptz)
    RETURNS SETOF record
    LANGUAGE plpgsql VOLATILE ROWS 1
AS $$
BEGIN
    RETURN QUERY SELECT f.number, f.reason, f.set_by, f.set_at
                   FROM public.installation_freeze f WHERE f.lifted_at IS NULL;
    IF FOUND THEN
        -- The process that froze the installation may still be waiting for the lock, so a permit
        -- must not queue behind it only to be refused.
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(public.installation_gate());
    RETURN QUERY SELECT f.number, f.reason, f.set_by, f.set_at
                   FROM public.installation_freeze f WHERE f.lifted_at IS NULL;
END
$$;

SELECT keep_in_rulebook('app_user');
SELECT keep_in_rulebook('user_role');
SELECT keep_in_rulebook('user_alias');
SELECT keep_in_rulebook('agent');
SELECT keep_in_rulebook('policy');
SELECT keep_in_rulebook('policy_version');
SELECT keep_in_rulebook('delegation');
SELECT keep_in_rulebook('freeze');
SELECT keep_in_rulebook('risk_setting');
SELECT keep_in_rulebook('feature_flag');
SELECT keep_in_rulebook('time_setting');
