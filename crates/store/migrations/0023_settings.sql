-- why: what a tenant sets about risk, and what it switches on, are rules like any other

-- Every version stays: an assessment of last year can be understood.
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

-- A flag without a row is off.
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

SELECT keep_to_tenant('risk_setting'), keep_to_tenant('feature_flag');
GRANT SELECT, INSERT ON risk_setting TO ade_app;
GRANT SELECT, INSERT, UPDATE ON feature_flag TO ade_app;
SELECT keep_in_rulebook('risk_setting'), keep_in_rulebook('feature_flag');
