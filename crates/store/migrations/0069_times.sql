-- why: how long leases, reviews and attempts may take is a rule of the tenant like any other

-- Every version stays: why a review ended last year can be understood.
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
SELECT keep_in_rulebook('time_setting');
