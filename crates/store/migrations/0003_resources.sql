-- why: criticality, dependents and freezes are judged from the registry, never from a task

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
    CONSTRAINT freeze_is_lifted_by_somebody CHECK ((lifted_at IS NULL) = (lifted_by IS NULL)),
    CONSTRAINT freeze_reason_is_given CHECK (octet_length(reason) BETWEEN 1 AND 4096)
);
CREATE INDEX freeze_in_force ON "freeze" (tenant_id, id) WHERE lifted_at IS NULL;

SELECT keep_to_tenant('resource'), keep_to_tenant('resource_dependency'),
       keep_to_tenant('freeze');

GRANT SELECT, INSERT, UPDATE, DELETE ON resource TO ade_app;
GRANT SELECT, INSERT, DELETE ON resource_dependency TO ade_app;
GRANT SELECT, INSERT, UPDATE ON "freeze" TO ade_app;
