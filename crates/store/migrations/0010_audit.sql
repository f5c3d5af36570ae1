-- why: every change and every refusal leaves an audit entry, and statistics are derived from it

CREATE TABLE audit_entry (
    tenant_id uuid NOT NULL,
    at timestamptz NOT NULL,
    id uuid NOT NULL DEFAULT uuid_v7(),
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    format smallint NOT NULL,
    kind text NOT NULL,
    user_id uuid,
    agent_id uuid,
    on_behalf_of uuid,
    worker text,
    object text NOT NULL,
    action text NOT NULL,
    from_state text,
    to_state text,
    revision integer,
    digest bytea,
    -- The origin of the request. The canonical bytes contain only its salted hash, so that these
    -- three can be erased.
    origin_salt uuid,
    address inet,
    user_agent text,
    service text NOT NULL,
    reason text,
    ticket text,
    canonical bytea NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_entry_pkey PRIMARY KEY (tenant_id, at, id),
    CONSTRAINT audit_entry_kind_is_known CHECK (kind IN ('change', 'refusal', 'disclosure')),
    CONSTRAINT audit_entry_names_one_actor CHECK (num_nonnulls(user_id, agent_id, worker) = 1),
    CONSTRAINT audit_entry_agent_acts_for_a_person CHECK (
        (agent_id IS NULL) = (on_behalf_of IS NULL)),
    CONSTRAINT audit_entry_origin_is_salted CHECK (
        origin_salt IS NOT NULL OR (address IS NULL AND user_agent IS NULL)),
    CONSTRAINT audit_entry_is_bounded CHECK (octet_length(canonical) BETWEEN 1 AND 65536),
    CONSTRAINT audit_entry_hash_is_sha256 CHECK (octet_length(hash) = 32)
) PARTITION BY RANGE (at);
CREATE INDEX audit_entry_of_object ON audit_entry (tenant_id, object, at);
-- Readers that follow the log take entries in commit order and never pass a transaction in
-- progress.
CREATE INDEX audit_entry_by_commit ON audit_entry (tenant_id, xid, id);
-- One index for people and one for agents. Row-level security evaluates an expression such as
-- coalesce() after the tenant condition, because the expression may leak its input, so an index on
-- it would not be used.
CREATE INDEX audit_entry_of_user ON audit_entry (tenant_id, user_id, at, id)
    WHERE user_id IS NOT NULL;
CREATE INDEX audit_entry_of_agent ON audit_entry (tenant_id, agent_id, at, id)
    WHERE agent_id IS NOT NULL;
-- Nearly every entry is a change, so only the others are indexed.
CREATE INDEX audit_entry_of_kind ON audit_entry (tenant_id, kind, at, id) WHERE kind <> 'change';
SELECT keep_to_tenant('audit_entry');
-- Lists the tenants with new audit entries for the worker, which then opens one transaction for
-- each tenant. Only tenant ids are returned.
CREATE POLICY owner_looks_for_news ON audit_entry FOR SELECT TO CURRENT_USER USING (true);
-- Audit entries are immutable: no UPDATE, DELETE or TRUNCATE is granted.
GRANT SELECT, INSERT ON audit_entry TO ade_app;

-- Aggregated from the audit log by a worker in commit order, so that a transition writes nothing
-- here. A name is an action (`task.approve`) or a state that was entered (`APPROVED`). Days are in
-- UTC.
CREATE TABLE daily_count (
    tenant_id uuid NOT NULL,
    day date NOT NULL,
    name text COLLATE "C" NOT NULL,
    count bigint NOT NULL,
    CONSTRAINT daily_count_pkey PRIMARY KEY (tenant_id, day, name),
    CONSTRAINT daily_count_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT daily_count_counts_something CHECK (count >= 1),
    CONSTRAINT daily_count_name_is_short CHECK (octet_length(name) BETWEEN 1 AND 128)
) WITH (fillfactor = 80);
SELECT keep_to_tenant('daily_count');
GRANT SELECT, INSERT, UPDATE ON daily_count TO ade_app;

-- The outcomes of tasks by type and resource. The row for the whole tenant has neither.
CREATE TABLE failure_history (
    tenant_id uuid NOT NULL,
    task_type text COLLATE "C" NOT NULL,
    resource text COLLATE "C" NOT NULL,
    failed bigint NOT NULL,
    total bigint NOT NULL,
    CONSTRAINT failure_history_pkey PRIMARY KEY (tenant_id, task_type, resource),
    CONSTRAINT failure_history_is_of_a_tenant FOREIGN KEY (tenant_id)
        REFERENCES tenant (tenant_id),
    CONSTRAINT failure_history_is_a_part CHECK (failed BETWEEN 0 AND total AND total >= 1),
    CONSTRAINT failure_history_names_both_or_none CHECK ((task_type = '') = (resource = ''))
) WITH (fillfactor = 80);
SELECT keep_to_tenant('failure_history');
GRANT SELECT, INSERT, UPDATE ON failure_history TO ade_app;

-- Entries of transactions below `below` are aggregated. Later entries were written after `at`, so
-- earlier partitions need not be read.
CREATE TABLE tally_cursor (
    tenant_id uuid NOT NULL,
    below xid8 NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT tally_cursor_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT tally_cursor_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id)
) WITH (fillfactor = 50);
SELECT keep_to_tenant('tally_cursor');
CREATE POLICY owner_looks_for_news ON tally_cursor FOR SELECT TO CURRENT_USER USING (true);
GRANT SELECT, INSERT, UPDATE ON tally_cursor TO ade_app;

-- Creates monthly audit partitions and daily outbox partitions from `since` on. The application has
-- no DDL rights. Attaching a complete table does not block writers.
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
        SELECT * FROM (VALUES ('audit_entry', 'month', 'YYYY_MM'), ('outbox', 'day', 'YYYY_MM_DD'))
            AS listed (name, unit, suffix)
    LOOP
        starts := date_trunc(parent.unit, since);
        WHILE starts <= since + ahead LOOP
            partition := parent.name || '_' || to_char(starts, parent.suffix);
            IF to_regclass('public.' || partition) IS NULL THEN
                EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING DEFAULTS '
                               'INCLUDING CONSTRAINTS)', partition, parent.name);
                -- A partition is read through its parent, whose policies apply. On its own it shows
                -- no rows.
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

-- Checks the end of each tenant's audit log.
CREATE FUNCTION tenants_with_news(most integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT t.tenant_id
      FROM public.tenant t
      LEFT JOIN public.tally_cursor c ON c.tenant_id = t.tenant_id
     CROSS JOIN LATERAL (
           SELECT FROM public.audit_entry l
            WHERE l.tenant_id = t.tenant_id
              AND l.xid >= coalesce(c.below, '0'::xid8)
              AND l.xid < pg_snapshot_xmin(pg_current_snapshot())
              AND l.at >= coalesce(c.at, '-infinity'::timestamptz)
            LIMIT 1) AS news
     ORDER BY t.tenant_id
     LIMIT least(most, 1000)
$$;
REVOKE EXECUTE ON FUNCTION tenants_with_news(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenants_with_news(integer) TO ade_worker;
