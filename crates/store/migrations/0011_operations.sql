-- why: idempotency keys, scheduled jobs, workers and notifications keep the server running

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
SELECT keep_to_tenant('idempotency');
-- Lists the tenants with expired idempotency keys for the pruner, which then opens one transaction
-- for each tenant. Only tenant ids are returned, in order, up to a limit.
CREATE POLICY owner_looks_for_expired ON idempotency FOR SELECT TO CURRENT_USER USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency TO ade_app;

-- Scheduled jobs. The table is narrow on purpose: this is all that a worker sees of a tenant before
-- it opens a transaction.
CREATE TABLE scheduled_job (
    tenant_id uuid NOT NULL,
    kind text NOT NULL,
    object uuid NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT scheduled_job_pkey PRIMARY KEY (tenant_id, kind, object),
    CONSTRAINT scheduled_job_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT scheduled_job_kind_is_short CHECK (octet_length(kind) BETWEEN 1 AND 64)
) WITH (fillfactor = 80);
-- Workers serve all tenants, so the next job is found across tenants.
CREATE INDEX scheduled_job_next ON scheduled_job (kind, at);
SELECT keep_to_tenant('scheduled_job');
CREATE POLICY worker_reads ON scheduled_job FOR SELECT TO ade_worker USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON scheduled_job TO ade_app;
GRANT SELECT ON scheduled_job TO ade_worker;

-- Leases that keep each worker to one process. They belong to the installation, not to a tenant.
-- They use a deadline instead of a session lock, because a session does not outlive a transaction
-- behind a connection pooler.
CREATE TABLE worker_lease (
    name text NOT NULL,
    shard integer NOT NULL,
    holder uuid NOT NULL,
    fence bigint NOT NULL,
    deadline timestamptz NOT NULL,
    -- The result of the last run, whichever process it ran in.
    ran_at timestamptz,
    runs bigint NOT NULL DEFAULT 0,
    items bigint NOT NULL DEFAULT 0,
    failure text,
    CONSTRAINT worker_lease_pkey PRIMARY KEY (name, shard),
    CONSTRAINT worker_lease_fence_is_natural CHECK (fence >= 0),
    CONSTRAINT worker_lease_counts_are_natural CHECK (runs >= 0 AND items >= 0),
    CONSTRAINT worker_lease_failure_is_short CHECK (octet_length(failure) <= 1024)
) WITH (fillfactor = 50);
ALTER TABLE worker_lease ENABLE ROW LEVEL SECURITY;
ALTER TABLE worker_lease FORCE ROW LEVEL SECURITY;
CREATE POLICY workers_only ON worker_lease TO ade_worker USING (true) WITH CHECK (true);
CREATE POLICY application_reads ON worker_lease FOR SELECT TO ade_app USING (true);
GRANT SELECT, INSERT, UPDATE ON worker_lease TO ade_worker;
GRANT SELECT ON worker_lease TO ade_app;

CREATE TABLE notification (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT uuid_v7(),
    user_id uuid NOT NULL,
    task_id uuid NOT NULL,
    -- The name of the event that the notification is about.
    kind text NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT notification_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT notification_is_for_a_person FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT notification_task_exists FOREIGN KEY (tenant_id, task_id)
        REFERENCES task (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT notification_kind_is_short CHECK (octet_length(kind) BETWEEN 1 AND 64)
);
CREATE INDEX notification_of_user ON notification (tenant_id, user_id, id);
CREATE INDEX notification_of_task ON notification (tenant_id, task_id);
SELECT keep_to_tenant('notification');
GRANT SELECT, INSERT ON notification TO ade_app;

CREATE TABLE notification_preference (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- Event kinds, or patterns of them.
    mail text[] NOT NULL,
    slack text[] NOT NULL,
    slack_member text,
    quiet_zone text,
    quiet_from text,
    quiet_to text,
    digest_s integer NOT NULL,
    version bigint NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT notification_preference_pkey PRIMARY KEY (tenant_id, user_id),
    CONSTRAINT notification_preference_is_of_a_person FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT notification_preference_is_bounded CHECK (
        cardinality(mail) <= 64 AND cardinality(slack) <= 64),
    CONSTRAINT notification_preference_quiet_is_whole CHECK (
        num_nonnulls(quiet_zone, quiet_from, quiet_to) IN (0, 3)),
    CONSTRAINT notification_preference_digest_is_natural CHECK (digest_s BETWEEN 0 AND 86400),
    CONSTRAINT notification_preference_counts_from_one CHECK (version >= 1)
);
SELECT keep_to_tenant('notification_preference');
GRANT SELECT, INSERT, UPDATE ON notification_preference TO ade_app;

-- A message to a person on one channel. Several items are sent together.
CREATE TABLE message_item (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    channel text NOT NULL,
    -- The number of the event.
    seq bigint NOT NULL,
    kind text NOT NULL,
    task_id uuid NOT NULL,
    at timestamptz NOT NULL,
    state text NOT NULL,
    ended_at timestamptz,
    CONSTRAINT message_item_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT message_item_is_for_a_person FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT message_item_task_exists FOREIGN KEY (tenant_id, task_id)
        REFERENCES task (tenant_id, id) ON DELETE CASCADE,
    -- Each event creates one item, even if the consumer reads it again.
    CONSTRAINT message_item_is_sent_once UNIQUE (tenant_id, user_id, channel, seq),
    CONSTRAINT message_item_channel_is_known CHECK (channel IN ('mail', 'slack')),
    CONSTRAINT message_item_state_is_known CHECK (state IN ('waiting', 'sent', 'dead')),
    CONSTRAINT message_item_ends_once CHECK ((state = 'waiting') = (ended_at IS NULL))
) WITH (fillfactor = 80);
CREATE INDEX message_item_waiting ON message_item (tenant_id, user_id, channel, seq)
    WHERE state = 'waiting';
CREATE INDEX message_item_of_task ON message_item (tenant_id, task_id);
SELECT keep_to_tenant('message_item');
GRANT SELECT, INSERT, UPDATE ON message_item TO ade_app;

-- The delivery state of one channel of a person.
CREATE TABLE message_channel (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    channel text NOT NULL,
    sent_at timestamptz,
    -- The number of consecutive failures.
    tries integer NOT NULL,
    problem text,
    -- The process that sends now, and the end of its claim.
    sender uuid,
    sending_until timestamptz,
    CONSTRAINT message_channel_pkey PRIMARY KEY (tenant_id, user_id, channel),
    CONSTRAINT message_channel_is_of_a_person FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT message_channel_tries_are_natural CHECK (tries >= 0),
    CONSTRAINT message_channel_is_sent_by_a_worker CHECK (
        (sender IS NULL) = (sending_until IS NULL))
) WITH (fillfactor = 50);
SELECT keep_to_tenant('message_channel');
GRANT SELECT, INSERT, UPDATE ON message_channel TO ade_app;

-- Begins the work of a transaction in one round trip: sets the tenant and the timeouts, reserves
-- the idempotency key, takes the tenant lock and locks the task.
CREATE FUNCTION open_transaction(
    tenant uuid, lock_ms integer, statement_ms integer, idle_ms integer, gate text,
    key bigint, task uuid, approval uuid, execution uuid,
    OUT key_is_ours boolean, OUT locked_task uuid, OUT moment_in_micros bigint)
    LANGUAGE plpgsql
AS $$
DECLARE
    said text;
BEGIN
    said := set_config('ade.tenant', tenant::text, true);
    said := set_config('lock_timeout', lock_ms::text, true);
    said := set_config('statement_timeout', statement_ms::text, true);
    said := set_config('idle_in_transaction_session_timeout', idle_ms::text, true);
    -- Plans are cached, because planning dominates the cost of a decision. Sequential scans are
    -- disabled, because a plan that was made for an empty table would be kept after the table has
    -- grown.
    said := set_config('plan_cache_mode', 'force_generic_plan', true);
    said := set_config('enable_seqscan', 'off', true);
    IF key IS NOT NULL THEN
        key_is_ours := pg_try_advisory_xact_lock(key);
    END IF;
    -- If another request holds the same key, this one fails immediately instead of queuing for the
    -- tenant lock and delaying others.
    IF key_is_ours IS NOT FALSE THEN
        IF gate = 'shared' THEN
            PERFORM pg_advisory_xact_lock_shared(hashtextextended('gate ' || tenant, 0));
        ELSIF gate = 'exclusive' THEN
            PERFORM pg_advisory_xact_lock(hashtextextended('gate ' || tenant, 0));
        END IF;
        IF approval IS NOT NULL THEN
            locked_task := public.lock_task_of_approval(approval);
        ELSIF execution IS NOT NULL THEN
            locked_task := public.lock_task_of_execution(execution);
        ELSIF task IS NOT NULL THEN
            PERFORM public.lock_task(task);
            locked_task := task;
        END IF;
    END IF;
    moment_in_micros := extract(epoch FROM public.moment()) * 1000000;
END
$$;

CREATE FUNCTION tenants_with_expired_answers(until timestamptz, after uuid, most integer)
    RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT t.tenant_id
      FROM public.tenant t
     WHERE (after IS NULL OR t.tenant_id > after)
       AND EXISTS (SELECT FROM public.idempotency i
                    WHERE i.tenant_id = t.tenant_id AND i.expires_at <= until)
     ORDER BY t.tenant_id
     LIMIT least(most, 1000)
$$;
REVOKE EXECUTE ON FUNCTION tenants_with_expired_answers(timestamptz, uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenants_with_expired_answers(timestamptz, uuid, integer) TO ade_worker;

-- Marks waiting messages as sent or dead.
CREATE FUNCTION message_end(items uuid[], ended_as text, done_at timestamptz) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    item uuid;
BEGIN
    FOREACH item IN ARRAY items LOOP
        -- With `IS NULL`, the planner would prefer the partial index of waiting messages to the
        -- primary key.
        UPDATE public.message_item m SET state = ended_as, ended_at = done_at
         WHERE m.tenant_id = public.current_tenant() AND m.id = item
           AND num_nulls(m.ended_at) = 1;
    END LOOP;
END
$$;
