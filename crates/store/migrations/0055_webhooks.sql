-- why: other systems hear of events over HTTP, at addresses that an admin has entered

CREATE TABLE webhook_endpoint (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    url text NOT NULL,
    label text NOT NULL,
    events text[] NOT NULL,
    -- How requests are signed: `v1` with a shared secret, `v1a` with a key pair.
    scheme text NOT NULL,
    -- The secret follows from it and from the installation's pepper; it is kept nowhere.
    salt bytea NOT NULL,
    -- The one before, which signs too until then.
    old_salt bytea,
    old_until timestamptz,
    state text NOT NULL,
    -- Why it is disabled.
    reason text,
    version bigint NOT NULL,
    created_by uuid NOT NULL,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    -- It hears of what happens from then on.
    active_since timestamptz NOT NULL,
    deleted_at timestamptz,
    CONSTRAINT webhook_endpoint_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT webhook_endpoint_is_of_somebody FOREIGN KEY (tenant_id, created_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT webhook_endpoint_url_is_bounded CHECK (octet_length(url) BETWEEN 1 AND 2048),
    CONSTRAINT webhook_endpoint_label_is_short CHECK (octet_length(label) <= 128),
    CONSTRAINT webhook_endpoint_hears_something CHECK (cardinality(events) BETWEEN 1 AND 64),
    CONSTRAINT webhook_endpoint_scheme_is_known CHECK (scheme IN ('v1', 'v1a')),
    CONSTRAINT webhook_endpoint_salts_are_long CHECK (
        octet_length(salt) = 32 AND coalesce(octet_length(old_salt) = 32, true)),
    CONSTRAINT webhook_endpoint_old_salt_ends CHECK ((old_salt IS NULL) = (old_until IS NULL)),
    CONSTRAINT webhook_endpoint_state_is_known CHECK (state IN ('active', 'disabled')),
    CONSTRAINT webhook_endpoint_disabled_has_reason CHECK (
        (state = 'disabled') = (reason IS NOT NULL)),
    CONSTRAINT webhook_endpoint_counts_from_one CHECK (version >= 1)
);

-- How an endpoint does. Apart from it, since it changes with every failure and is no part of the
-- record.
CREATE TABLE webhook_circuit (
    tenant_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    failures integer NOT NULL DEFAULT 0,
    open_until timestamptz,
    -- Of the first failure in this row of them.
    failing_since timestamptz,
    problem text,
    delivered_at timestamptz,
    CONSTRAINT webhook_circuit_pkey PRIMARY KEY (tenant_id, endpoint_id),
    CONSTRAINT webhook_circuit_is_of_an_endpoint FOREIGN KEY (tenant_id, endpoint_id)
        REFERENCES webhook_endpoint (tenant_id, id),
    CONSTRAINT webhook_circuit_failures_are_natural CHECK (failures >= 0)
) WITH (fillfactor = 50);

SELECT keep_to_tenant('webhook_endpoint'), keep_to_tenant('webhook_circuit');
GRANT SELECT, INSERT, UPDATE ON webhook_endpoint, webhook_circuit TO ade_app;
