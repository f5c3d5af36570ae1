-- why: an event of another system becomes a draft, by a template that an admin has written

CREATE TABLE inbound_source (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    label text NOT NULL,
    -- Who proposes what comes in.
    agent_id uuid NOT NULL,
    template json NOT NULL,
    -- The secret follows from it and from the installation's pepper; it is kept nowhere.
    salt bytea NOT NULL,
    -- The one before, which is good too until then.
    old_salt bytea,
    old_until timestamptz,
    active boolean NOT NULL,
    version bigint NOT NULL,
    created_by uuid NOT NULL,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    deleted_at timestamptz,
    CONSTRAINT inbound_source_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT inbound_source_agent_exists FOREIGN KEY (tenant_id, agent_id)
        REFERENCES agent (tenant_id, id),
    CONSTRAINT inbound_source_is_of_somebody FOREIGN KEY (tenant_id, created_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT inbound_source_label_is_short CHECK (octet_length(label) <= 128),
    CONSTRAINT inbound_source_salts_are_long CHECK (
        octet_length(salt) = 32 AND coalesce(octet_length(old_salt) = 32, true)),
    CONSTRAINT inbound_source_old_salt_ends CHECK ((old_salt IS NULL) = (old_until IS NULL)),
    CONSTRAINT inbound_source_counts_from_one CHECK (version >= 1)
);

-- How many messages a source has sent in the minute that runs. No part of the record.
CREATE TABLE inbound_minute (
    tenant_id uuid NOT NULL,
    source_id uuid NOT NULL,
    minute timestamptz NOT NULL,
    count integer NOT NULL,
    CONSTRAINT inbound_minute_pkey PRIMARY KEY (tenant_id, source_id),
    CONSTRAINT inbound_minute_is_of_a_source FOREIGN KEY (tenant_id, source_id)
        REFERENCES inbound_source (tenant_id, id),
    CONSTRAINT inbound_minute_counts_something CHECK (count >= 1)
) WITH (fillfactor = 50);

SELECT keep_to_tenant('inbound_source'), keep_to_tenant('inbound_minute');
GRANT SELECT, INSERT, UPDATE ON inbound_source, inbound_minute TO ade_app;
