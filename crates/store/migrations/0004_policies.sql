-- why: a task is judged by the policy versions it was submitted under, so versions are rows

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
ALTER TABLE policy ADD CONSTRAINT policy_current_version_exists
    FOREIGN KEY (tenant_id, id, current_version)
    REFERENCES policy_version (tenant_id, policy_id, version);

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
CREATE INDEX delegation_of_owner ON delegation (tenant_id, owner_id) WHERE active;

SELECT keep_to_tenant('policy'), keep_to_tenant('policy_version'), keep_to_tenant('delegation');

GRANT SELECT, INSERT, UPDATE ON policy, delegation TO ade_app;
-- A version is published once and never edited.
GRANT SELECT, INSERT ON policy_version TO ade_app;
