-- why: what happened is kept for ever by month, and told to others from a log kept by day

CREATE TABLE audit_leaf (
    tenant_id uuid NOT NULL,
    at timestamptz NOT NULL,
    id uuid NOT NULL DEFAULT uuid_v7(),
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    format smallint NOT NULL,
    kind text NOT NULL,
    user_id uuid,
    session_id uuid,
    agent_id uuid,
    on_behalf_of uuid,
    agent_session_id uuid,
    worker text,
    object text NOT NULL,
    action text NOT NULL,
    from_state text,
    to_state text,
    revision integer,
    digest bytea,
    address inet,
    user_agent text,
    service text NOT NULL,
    reason text,
    ticket text,
    canonical bytea NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_leaf_pkey PRIMARY KEY (tenant_id, at, id),
    CONSTRAINT audit_leaf_kind_is_known CHECK (kind IN ('change', 'refusal', 'disclosure')),
    CONSTRAINT audit_leaf_names_one_actor CHECK (num_nonnulls(user_id, agent_id, worker) = 1),
    CONSTRAINT audit_leaf_agent_acts_for_somebody CHECK (
        (agent_id IS NULL) = (on_behalf_of IS NULL)),
    CONSTRAINT audit_leaf_is_bounded CHECK (octet_length(canonical) BETWEEN 1 AND 65536),
    CONSTRAINT audit_leaf_hash_is_sha256 CHECK (octet_length(hash) = 32)
) PARTITION BY RANGE (at);
CREATE INDEX audit_leaf_of_object ON audit_leaf (tenant_id, object, at);
-- The sealer takes leaves in commit order and never passes a transaction in flight.
CREATE INDEX audit_leaf_by_commit ON audit_leaf (tenant_id, xid, id);

CREATE TABLE outbox (
    tenant_id uuid NOT NULL,
    at timestamptz NOT NULL,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    kind text NOT NULL,
    object text NOT NULL,
    version bigint,
    payload json NOT NULL,
    tenant_seq bigint,
    CONSTRAINT outbox_pkey PRIMARY KEY (tenant_id, at, seq)
) PARTITION BY RANGE (at);
-- For the relay, which serves all tenants: this index alone does not begin with the tenant.
CREATE INDEX outbox_to_relay ON outbox (xid, seq) WHERE tenant_seq IS NULL;
CREATE INDEX outbox_by_tenant_seq ON outbox (tenant_id, tenant_seq)
    WHERE tenant_seq IS NOT NULL;

SELECT keep_to_tenant('audit_leaf'), keep_to_tenant('outbox');
-- A row that was written stays as it was: no UPDATE, no DELETE, no TRUNCATE.
GRANT SELECT, INSERT ON audit_leaf, outbox TO ade_app;
GRANT SELECT ON outbox TO ade_worker;
CREATE POLICY worker_reads ON outbox FOR SELECT TO ade_worker USING (true);

-- Months of evidence and days of outbox from `since` on, as far `ahead` as asked. The
-- application has no DDL; attaching a finished table does not stop those who write.
CREATE FUNCTION make_partitions(ahead interval, since timestamptz DEFAULT now())
    RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
    SET timezone = 'UTC'
AS $$
DECLARE
    parent record;
    starts timestamptz;
    partition text;
    made integer := 0;
BEGIN
    IF ahead < interval '0' OR ahead > interval '400 days' THEN
        RAISE EXCEPTION 'partitions are made at most 400 days ahead, not %', ahead
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('make_partitions', 0));
    FOR parent IN
        SELECT * FROM (VALUES ('audit_leaf', 'month', 'YYYY_MM'), ('outbox', 'day', 'YYYY_MM_DD'))
            AS listed (name, unit, suffix)
    LOOP
        starts := date_trunc(parent.unit, since);
        WHILE starts <= since + ahead LOOP
            partition := parent.name || '_' || to_char(starts, parent.suffix);
            IF to_regclass('public.' || partition) IS NULL THEN
                EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING DEFAULTS '
                               'INCLUDING CONSTRAINTS)', partition, parent.name);
                -- Reached through the parent only, whose rules hold; by itself it shows nothing.
                EXECUTE format('ALTER TABLE public.%I ENABLE ROW LEVEL SECURITY', partition);
                EXECUTE format('ALTER TABLE public.%I FORCE ROW LEVEL SECURITY', partition);
                EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I '
                               'FOR VALUES FROM (%L) TO (%L)', parent.name, partition, starts,
                               starts + ('1 ' || parent.unit)::interval);
                made := made + 1;
            END IF;
            starts := starts + ('1 ' || parent.unit)::interval;
        END LOOP;
    END LOOP;
    RETURN made;
END
$$;
REVOKE EXECUTE ON FUNCTION make_partitions(interval, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION make_partitions(interval, timestamptz) TO ade_worker;
