-- why: what happened per day and how like tasks ended is asked often and must not slow a change

-- Folded from the audit by a worker, in commit order, so that a transition writes nothing here.
-- A name is an action (`task.approve`) or a state that was entered (`APPROVED`); days are UTC.
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

-- How tasks of a type ended on a resource. The row of the whole tenant has neither.
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

-- Leaves of transactions below `below` are folded. What is not has happened since `at`: with it
-- the months before need not be looked at.
CREATE TABLE tally_cursor (
    tenant_id uuid NOT NULL,
    below xid8 NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT tally_cursor_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT tally_cursor_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id)
) WITH (fillfactor = 50);

SELECT keep_to_tenant('daily_count'), keep_to_tenant('failure_history'),
       keep_to_tenant('tally_cursor');
GRANT SELECT, INSERT, UPDATE ON daily_count, failure_history, tally_cursor TO ade_app;

-- Whose audit has grown, for the worker, which then opens a transaction per tenant. Nothing but
-- tenant ids comes out.
CREATE POLICY owner_looks_for_news ON audit_leaf FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY owner_looks_for_news ON tally_cursor FOR SELECT TO CURRENT_USER USING (true);
CREATE FUNCTION tenants_with_news(most integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT t.tenant_id
      FROM public.tenant t
      LEFT JOIN public.tally_cursor c ON c.tenant_id = t.tenant_id
     WHERE EXISTS (SELECT FROM public.audit_leaf l
                    WHERE l.tenant_id = t.tenant_id
                      AND l.xid >= coalesce(c.below, '0'::xid8)
                      AND l.xid < pg_snapshot_xmin(pg_current_snapshot())
                      AND l.at >= coalesce(c.at, '-infinity'::timestamptz))
     ORDER BY t.tenant_id
     LIMIT least(most, 1000)
$$;
REVOKE EXECUTE ON FUNCTION tenants_with_news(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenants_with_news(integer) TO ade_worker;
