-- why: a task and its revisions are what agents propose and people approve

-- Task numbers are dense for each tenant. A shared sequence would reveal the activity of other
-- tenants.
CREATE TABLE task_number (
    tenant_id uuid NOT NULL,
    last bigint NOT NULL,
    CONSTRAINT task_number_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT task_number_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id)
) WITH (fillfactor = 50);
SELECT keep_to_tenant('task_number');
GRANT SELECT, INSERT, UPDATE ON task_number TO ade_app;

CREATE TABLE task (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    number bigint NOT NULL,
    state text NOT NULL,
    since timestamptz NOT NULL,
    version bigint NOT NULL,
    revision integer NOT NULL,
    title text NOT NULL,
    task_type text NOT NULL,
    priority smallint NOT NULL,
    risk smallint NOT NULL,
    level text NOT NULL,
    digest bytea NOT NULL,
    author_id uuid NOT NULL,
    agent_id uuid,
    submitter_id uuid,
    editors uuid[] NOT NULL DEFAULT '{}',
    team text,
    ticket text,
    round integer NOT NULL DEFAULT 0,
    review_opened_at timestamptz,
    escalated_to_us bigint NOT NULL DEFAULT 0,
    basis json,
    attempts integer NOT NULL DEFAULT 0,
    not_before timestamptz,
    hurried_at timestamptz,
    resubmits uuid,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    closed_at timestamptz,
    -- The time of the last submission. Submissions of one author within an hour are rated as one
    -- change.
    submitted_at timestamptz,
    extended_to timestamptz,
    timeout_seconds integer NOT NULL DEFAULT 3600,
    rollback text NOT NULL DEFAULT 'none',
    rollback_steps text,
    CONSTRAINT task_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT task_number_is_taken UNIQUE (tenant_id, number),
    CONSTRAINT task_author_exists FOREIGN KEY (tenant_id, author_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT task_agent_exists FOREIGN KEY (tenant_id, agent_id)
        REFERENCES agent (tenant_id, id),
    CONSTRAINT task_submitter_exists FOREIGN KEY (tenant_id, submitter_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT task_resubmitted_exists FOREIGN KEY (tenant_id, resubmits)
        REFERENCES task (tenant_id, id),
    CONSTRAINT task_state_is_known CHECK (state IN (
        'DRAFT', 'SUBMITTED', 'REVIEWING', 'APPROVED', 'APPLYING', 'COMPLETED', 'REJECTED',
        'CANCELLED', 'FAILED', 'UNKNOWN', 'EXPIRED')),
    CONSTRAINT task_terminal_has_closed_at CHECK (
        (state IN ('COMPLETED', 'REJECTED', 'CANCELLED', 'EXPIRED')) = (closed_at IS NOT NULL)),
    CONSTRAINT task_approved_has_basis CHECK (
        state NOT IN ('APPROVED', 'APPLYING') OR basis IS NOT NULL),
    CONSTRAINT task_past_draft_has_submitter CHECK (
        state IN ('DRAFT', 'CANCELLED') OR submitter_id IS NOT NULL),
    CONSTRAINT task_reviewing_was_opened CHECK (
        state <> 'REVIEWING' OR review_opened_at IS NOT NULL),
    CONSTRAINT task_applying_has_attempt CHECK (state <> 'APPLYING' OR attempts > 0),
    CONSTRAINT task_level_is_known CHECK (level IN ('LOW', 'MEDIUM', 'HIGH', 'CRITICAL')),
    CONSTRAINT task_risk_is_a_score CHECK (risk BETWEEN 0 AND 100),
    CONSTRAINT task_priority_is_a_score CHECK (priority BETWEEN 0 AND 100),
    CONSTRAINT task_counts_are_natural CHECK (
        version >= 1 AND revision >= 1 AND round >= 0 AND attempts >= 0 AND escalated_to_us >= 0),
    CONSTRAINT task_digest_is_sha256 CHECK (octet_length(digest) = 32),
    CONSTRAINT task_timeout_is_bounded CHECK (timeout_seconds BETWEEN 1 AND 86400),
    CONSTRAINT task_rollback_is_known CHECK (rollback IN ('automatic', 'manual', 'none')),
    CONSTRAINT task_manual_rollback_has_steps CHECK (
        (rollback = 'manual') = (rollback_steps IS NOT NULL)),
    CONSTRAINT task_rollback_steps_are_short CHECK (
        octet_length(rollback_steps) BETWEEN 1 AND 4096)
) WITH (fillfactor = 80);
CREATE INDEX task_closed ON task (tenant_id, closed_at, id) WHERE closed_at IS NOT NULL;
CREATE INDEX task_of_author ON task (tenant_id, author_id, id);
CREATE INDEX task_of_agent ON task (tenant_id, agent_id, id) WHERE agent_id IS NOT NULL;
CREATE INDEX task_resubmitted ON task (tenant_id, resubmits) WHERE resubmits IS NOT NULL;
-- Lists tasks by state, newest first, for open and closed states.
CREATE INDEX task_of_state ON task (tenant_id, state, id);
CREATE INDEX task_submitted_by_author ON task (tenant_id, author_id, submitted_at)
    WHERE submitted_at IS NOT NULL;
-- Policy replays read submitted tasks in this order.
CREATE INDEX task_submitted ON task (tenant_id, submitted_at, id)
    WHERE submitted_at IS NOT NULL;
CREATE INDEX task_claimable
    ON task (tenant_id, task_type, hurried_at, priority DESC, since, id) WHERE state = 'APPROVED';
SELECT keep_to_tenant('task');
GRANT SELECT, INSERT, UPDATE, DELETE ON task TO ade_app;

-- `json` rather than `jsonb`: a digest covers these values, so they must be returned byte for byte.
CREATE TABLE task_revision (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    revision integer NOT NULL,
    digest bytea NOT NULL,
    shape bytea NOT NULL,
    task_type text NOT NULL,
    risk smallint NOT NULL,
    level text NOT NULL,
    origin text NOT NULL,
    author_kind text NOT NULL,
    author_roles text[] NOT NULL,
    parameters json NOT NULL,
    effect json NOT NULL,
    preview_versions json NOT NULL,
    editor_id uuid,
    created_at timestamptz NOT NULL,
    CONSTRAINT task_revision_pkey PRIMARY KEY (tenant_id, task_id, revision),
    CONSTRAINT task_revision_task_exists FOREIGN KEY (tenant_id, task_id)
        REFERENCES task (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT task_revision_counts_from_one CHECK (revision >= 1),
    CONSTRAINT task_revision_digests_are_sha256 CHECK (
        octet_length(digest) = 32 AND octet_length(shape) = 32),
    CONSTRAINT task_revision_level_is_known CHECK (
        level IN ('LOW', 'MEDIUM', 'HIGH', 'CRITICAL')),
    CONSTRAINT task_revision_risk_is_a_score CHECK (risk BETWEEN 0 AND 100),
    CONSTRAINT task_revision_origin_is_known CHECK (origin IN ('observed', 'declared')),
    CONSTRAINT task_revision_author_kind_is_known CHECK (author_kind IN ('user', 'agent'))
);
-- Type and level change only with a revision and are therefore indexed here: a state transition
-- does not touch this index.
CREATE INDEX task_revision_of_type ON task_revision (tenant_id, task_type, task_id, revision);
CREATE INDEX task_revision_of_level ON task_revision (tenant_id, level, task_id, revision);
SELECT keep_to_tenant('task_revision');
GRANT SELECT, INSERT ON task_revision TO ade_app;

CREATE TABLE task_resource (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    revision integer NOT NULL,
    resource text COLLATE "C" NOT NULL,
    mode text,
    CONSTRAINT task_resource_pkey PRIMARY KEY (tenant_id, task_id, revision, resource),
    CONSTRAINT task_resource_revision_exists FOREIGN KEY (tenant_id, task_id, revision)
        REFERENCES task_revision (tenant_id, task_id, revision) ON DELETE CASCADE,
    CONSTRAINT task_resource_name_is_type_and_id CHECK (
        resource ~ '^[a-z0-9_-]{1,64}:[!-~]+$'
        AND length(resource) - strpos(resource, ':') <= 256)
);
CREATE INDEX task_resource_by_resource ON task_resource (tenant_id, resource, task_id);
SELECT keep_to_tenant('task_resource');
GRANT SELECT, INSERT ON task_resource TO ade_app;

CREATE TABLE task_tag (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    revision integer NOT NULL,
    tag text COLLATE "C" NOT NULL,
    CONSTRAINT task_tag_pkey PRIMARY KEY (tenant_id, task_id, revision, tag),
    CONSTRAINT task_tag_revision_exists FOREIGN KEY (tenant_id, task_id, revision)
        REFERENCES task_revision (tenant_id, task_id, revision) ON DELETE CASCADE
);
CREATE INDEX task_tag_by_tag ON task_tag (tenant_id, tag, task_id);
SELECT keep_to_tenant('task_tag');
GRANT SELECT, INSERT ON task_tag TO ade_app;

CREATE TABLE comment (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    actor json NOT NULL,
    body text NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT comment_pkey PRIMARY KEY (tenant_id, task_id, seq),
    CONSTRAINT comment_task_exists FOREIGN KEY (tenant_id, task_id)
        REFERENCES task (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT comment_body_is_bounded CHECK (octet_length(body) BETWEEN 1 AND 4096)
);
SELECT keep_to_tenant('comment');
GRANT SELECT, INSERT ON comment TO ade_app;

CREATE TABLE risk_assessment (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    revision integer NOT NULL,
    score smallint NOT NULL,
    level text NOT NULL,
    factors json NOT NULL,
    assessed_at timestamptz NOT NULL,
    assessed_by text NOT NULL,
    CONSTRAINT risk_assessment_pkey PRIMARY KEY (tenant_id, task_id, revision),
    CONSTRAINT risk_assessment_revision_exists FOREIGN KEY (tenant_id, task_id, revision)
        REFERENCES task_revision (tenant_id, task_id, revision) ON DELETE CASCADE,
    CONSTRAINT risk_assessment_score_is_a_score CHECK (score BETWEEN 0 AND 100),
    CONSTRAINT risk_assessment_level_is_known CHECK (
        level IN ('LOW', 'MEDIUM', 'HIGH', 'CRITICAL'))
);
SELECT keep_to_tenant('risk_assessment');
GRANT SELECT, INSERT ON risk_assessment TO ade_app;

CREATE TABLE task_policy_pin (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    policy_id uuid NOT NULL,
    version integer NOT NULL,
    place integer NOT NULL,
    CONSTRAINT task_policy_pin_pkey PRIMARY KEY (tenant_id, task_id, policy_id),
    CONSTRAINT task_policy_pin_task_exists FOREIGN KEY (tenant_id, task_id)
        REFERENCES task (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT task_policy_pin_version_exists FOREIGN KEY (tenant_id, policy_id, version)
        REFERENCES policy_version (tenant_id, policy_id, version)
);
CREATE INDEX task_policy_pin_by_version ON task_policy_pin (tenant_id, policy_id, version);
SELECT keep_to_tenant('task_policy_pin');
GRANT SELECT, INSERT, UPDATE, DELETE ON task_policy_pin TO ade_app;

-- Locks a task row. The plan is cached for the lifetime of the connection. It runs with the rights
-- and the tenant of the caller.
CREATE FUNCTION lock_task(wanted uuid) RETURNS void
    LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM FROM public.task t
      WHERE t.tenant_id = public.current_tenant() AND t.id = wanted
        FOR NO KEY UPDATE;
END
$$;
