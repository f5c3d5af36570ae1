-- why: one admin proposes a rule and another publishes it, and what was proposed stays to be seen

CREATE TABLE policy_draft (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    -- Of the policy it changes, or of the one it would make.
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
    CONSTRAINT policy_draft_is_closed_by_somebody CHECK (
        num_nonnulls(outcome, closed_by, closed_at) IN (0, 3)),
    CONSTRAINT policy_draft_reason_is_bounded CHECK (octet_length(reason) <= 4096)
);
CREATE INDEX policy_draft_open ON policy_draft (tenant_id, id) WHERE closed_at IS NULL;

SELECT keep_to_tenant('policy_draft');
GRANT SELECT, INSERT, UPDATE ON policy_draft TO ade_app;

-- A replay walks what was handed in, in that order.
CREATE INDEX task_submitted ON task (tenant_id, submitted_at, id)
    WHERE submitted_at IS NOT NULL;
