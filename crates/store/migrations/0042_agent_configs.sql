-- why: what an agent is set up with is versioned, so that a change can be seen and taken back

-- The version in force; 0 while there is none. A heartbeat reads it from the rulebook.
ALTER TABLE agent ADD COLUMN config_version integer NOT NULL DEFAULT 0,
    ADD CONSTRAINT agent_config_version_is_natural CHECK (config_version >= 0);

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
-- A version never changes.
GRANT SELECT, INSERT ON agent_config_version TO ade_app;
