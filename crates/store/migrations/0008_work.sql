-- why: retries get the first answer, and workers find what is due without crossing tenants

CREATE TABLE idempotency (
    tenant_id uuid NOT NULL,
    principal text NOT NULL,
    route text NOT NULL,
    key text NOT NULL,
    body_hash bytea NOT NULL,
    status smallint NOT NULL,
    answer text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT idempotency_pkey PRIMARY KEY (tenant_id, principal, route, key),
    CONSTRAINT idempotency_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT idempotency_body_hash_is_sha256 CHECK (octet_length(body_hash) = 32),
    CONSTRAINT idempotency_key_is_short CHECK (octet_length(key) BETWEEN 1 AND 256)
);
CREATE INDEX idempotency_expired ON idempotency (tenant_id, expires_at);

-- Narrow on purpose: this is all that a worker sees of a tenant before it opens a transaction.
CREATE TABLE due (
    tenant_id uuid NOT NULL,
    kind text NOT NULL,
    object uuid NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT due_pkey PRIMARY KEY (tenant_id, kind, object),
    CONSTRAINT due_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT due_kind_is_short CHECK (octet_length(kind) BETWEEN 1 AND 64)
) WITH (fillfactor = 80);
-- Workers serve all tenants, so what comes next is found across them.
CREATE INDEX due_next ON due (kind, at);

-- Single flight of workers; of the installation, not of a tenant. A deadline instead of a
-- session lock, because a session does not outlive a transaction behind a pooler.
CREATE TABLE worker_lease (
    name text NOT NULL,
    shard integer NOT NULL,
    holder uuid NOT NULL,
    fence bigint NOT NULL,
    deadline timestamptz NOT NULL,
    CONSTRAINT worker_lease_pkey PRIMARY KEY (name, shard),
    CONSTRAINT worker_lease_fence_is_natural CHECK (fence >= 0)
) WITH (fillfactor = 50);

SELECT keep_to_tenant('idempotency'), keep_to_tenant('due');
ALTER TABLE worker_lease ENABLE ROW LEVEL SECURITY;
ALTER TABLE worker_lease FORCE ROW LEVEL SECURITY;
CREATE POLICY workers_only ON worker_lease TO ade_worker USING (true) WITH CHECK (true);

GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency, due TO ade_app;
GRANT SELECT ON due TO ade_worker;
CREATE POLICY worker_reads ON due FOR SELECT TO ade_worker USING (true);
GRANT SELECT, INSERT, UPDATE ON worker_lease TO ade_worker;
