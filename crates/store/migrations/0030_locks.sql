-- why: a lock's truth: whoever may commit is a row here, whatever the queue in Redis forgets

-- The life of one agent's process, or of one of the server's own. Kept alive by one UPDATE every
-- few seconds, however much it holds.
CREATE TABLE agent_session (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    agent_id uuid,
    node text NOT NULL,
    opened_at timestamptz NOT NULL,
    lease_until timestamptz NOT NULL,
    closed_at timestamptz,
    CONSTRAINT agent_session_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT agent_session_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT agent_session_agent_exists FOREIGN KEY (tenant_id, agent_id)
        REFERENCES agent (tenant_id, id),
    CONSTRAINT agent_session_node_is_short CHECK (octet_length(node) BETWEEN 1 AND 128)
) WITH (fillfactor = 50);
CREATE INDEX agent_session_open ON agent_session (tenant_id, lease_until)
    WHERE closed_at IS NULL;

-- One life of the tenant's queue. It only rises; tokens carry it in their high bits.
CREATE TABLE lock_epoch (
    tenant_id uuid NOT NULL,
    epoch bigint NOT NULL,
    reason text NOT NULL,
    begun_at timestamptz NOT NULL,
    CONSTRAINT lock_epoch_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT lock_epoch_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT lock_epoch_is_in_range CHECK (epoch BETWEEN 1 AND 1048575),
    CONSTRAINT lock_epoch_reason_is_short CHECK (octet_length(reason) BETWEEN 1 AND 128)
);

-- The highest token a resource has seen. Whoever registers locks it first: two that want one
-- resource are judged one after the other.
CREATE TABLE lock_fence (
    tenant_id uuid NOT NULL,
    resource text COLLATE "C" NOT NULL,
    max_token bigint NOT NULL DEFAULT 0,
    CONSTRAINT lock_fence_pkey PRIMARY KEY (tenant_id, resource),
    CONSTRAINT lock_fence_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT lock_fence_token_is_natural CHECK (max_token >= 0)
) WITH (fillfactor = 70);

-- One resource under one lease. A row outlives its hold: a lease that was fenced or released must
-- not come back under its id.
CREATE TABLE lock_hold (
    tenant_id uuid NOT NULL,
    resource text COLLATE "C" NOT NULL,
    lease_id uuid NOT NULL,
    session_id uuid NOT NULL,
    mode text NOT NULL,
    capacity integer,
    token bigint NOT NULL,
    -- Whom the queue knows it by, should it have to be told again.
    owner text NOT NULL,
    node text NOT NULL,
    born_at timestamptz NOT NULL,
    ttl interval NOT NULL,
    lock_delay interval NOT NULL,
    registered_at timestamptz NOT NULL,
    deadline timestamptz NOT NULL,
    fenced_by uuid,
    fenced_at timestamptz,
    released_at timestamptz,
    CONSTRAINT lock_hold_pkey PRIMARY KEY (tenant_id, lease_id, resource),
    CONSTRAINT lock_hold_resource_has_a_fence FOREIGN KEY (tenant_id, resource)
        REFERENCES lock_fence (tenant_id, resource),
    CONSTRAINT lock_hold_session_exists FOREIGN KEY (tenant_id, session_id)
        REFERENCES agent_session (tenant_id, id),
    CONSTRAINT lock_hold_mode_is_known CHECK (mode IN ('exclusive', 'shared', 'counting')),
    CONSTRAINT lock_hold_counting_has_a_capacity CHECK (
        (mode = 'counting') = (capacity IS NOT NULL) AND capacity BETWEEN 1 AND 10000),
    CONSTRAINT lock_hold_token_has_an_epoch CHECK (token BETWEEN 8589934592 AND 9007199254740991),
    CONSTRAINT lock_hold_delay_is_natural CHECK (lock_delay >= interval '0'),
    CONSTRAINT lock_hold_is_fenced_by_another CHECK (fenced_by <> lease_id),
    CONSTRAINT lock_hold_fence_has_a_time CHECK ((fenced_by IS NULL) = (fenced_at IS NULL)),
    CONSTRAINT lock_hold_ends_once CHECK (fenced_by IS NULL OR released_at IS NULL)
) WITH (fillfactor = 70);
CREATE INDEX lock_hold_open ON lock_hold (tenant_id, resource)
    WHERE fenced_by IS NULL AND released_at IS NULL;

SELECT keep_to_tenant('agent_session'), keep_to_tenant('lock_epoch'),
       keep_to_tenant('lock_fence'), keep_to_tenant('lock_hold');
GRANT SELECT, INSERT, UPDATE ON agent_session, lock_epoch, lock_fence, lock_hold TO ade_app;
