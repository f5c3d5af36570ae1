-- why: events leave the server through the outbox, consumers and webhooks, and enter as inbound
-- messages

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
    -- The id is assigned together with the number.
    id uuid,
    actor text,
    CONSTRAINT outbox_pkey PRIMARY KEY (tenant_id, at, seq)
) PARTITION BY RANGE (at);
CREATE INDEX outbox_by_tenant_seq ON outbox (tenant_id, tenant_seq)
    WHERE tenant_seq IS NOT NULL;
CREATE INDEX outbox_to_relay ON outbox (seq) WHERE tenant_seq IS NULL;
SELECT keep_to_tenant('outbox');
CREATE POLICY worker_reads ON outbox FOR SELECT TO ade_worker USING (true);
-- Numbering is the only change to a stored event, and `number_events` is the only way to make it.
CREATE POLICY owner_numbers ON outbox TO CURRENT_USER USING (true) WITH CHECK (true);
GRANT SELECT, INSERT ON outbox TO ade_app;
GRANT SELECT ON outbox TO ade_worker;

-- The number of the last numbered event of a tenant.
CREATE TABLE event_head (
    tenant_id uuid NOT NULL,
    tenant_seq bigint NOT NULL,
    CONSTRAINT event_head_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT event_head_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT event_head_is_natural CHECK (tenant_seq >= 0)
) WITH (fillfactor = 50);
SELECT keep_to_tenant('event_head');
CREATE POLICY worker_reads ON event_head FOR SELECT TO ade_worker USING (true);
CREATE POLICY owner_numbers ON event_head TO CURRENT_USER USING (true) WITH CHECK (true);
GRANT SELECT ON event_head TO ade_app, ade_worker;

-- The position of each consumer in the event stream of a tenant.
CREATE TABLE consumer_cursor (
    tenant_id uuid NOT NULL,
    consumer text NOT NULL,
    tenant_seq bigint NOT NULL,
    moved_at timestamptz NOT NULL,
    CONSTRAINT consumer_cursor_pkey PRIMARY KEY (tenant_id, consumer),
    CONSTRAINT consumer_cursor_is_of_a_tenant FOREIGN KEY (tenant_id)
        REFERENCES tenant (tenant_id),
    CONSTRAINT consumer_cursor_is_natural CHECK (tenant_seq >= 0),
    CONSTRAINT consumer_cursor_name_is_short CHECK (octet_length(consumer) BETWEEN 1 AND 64)
) WITH (fillfactor = 50);
SELECT keep_to_tenant('consumer_cursor');
CREATE POLICY worker_reads ON consumer_cursor FOR SELECT TO ade_worker USING (true);
CREATE POLICY owner_passes_over ON consumer_cursor TO CURRENT_USER USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON consumer_cursor TO ade_app;
GRANT SELECT ON consumer_cursor TO ade_worker;

-- Only a hash of the ticket is stored. The token it was issued for identifies its holder.
CREATE TABLE live_ticket (
    tenant_id uuid NOT NULL,
    hash bytea NOT NULL,
    key_id text NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT live_ticket_pkey PRIMARY KEY (tenant_id, hash),
    CONSTRAINT live_ticket_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT live_ticket_hash_is_sha256 CHECK (octet_length(hash) = 32)
);
CREATE INDEX live_ticket_expired ON live_ticket (tenant_id, expires_at);
SELECT keep_to_tenant('live_ticket');
GRANT SELECT, INSERT, DELETE ON live_ticket TO ade_app;

CREATE TABLE webhook_endpoint (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    url text NOT NULL,
    label text NOT NULL,
    events text[] NOT NULL,
    -- The signature scheme: `v1` with a shared secret, `v1a` with a key pair.
    scheme text NOT NULL,
    -- The secret is derived from this salt and the pepper of the installation and is not stored.
    salt bytea NOT NULL,
    -- The previous salt, whose secret also signs until this time.
    old_salt bytea,
    old_until timestamptz,
    state text NOT NULL,
    -- The reason why the endpoint is disabled.
    reason text,
    version bigint NOT NULL,
    created_by uuid NOT NULL,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    -- The endpoint receives events after this number.
    active_since timestamptz NOT NULL,
    deleted_at timestamptz,
    CONSTRAINT webhook_endpoint_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT webhook_endpoint_is_of_a_person FOREIGN KEY (tenant_id, created_by)
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
SELECT keep_to_tenant('webhook_endpoint');
CREATE POLICY owner_counts ON webhook_endpoint FOR SELECT TO CURRENT_USER USING (true);
GRANT SELECT, INSERT, UPDATE ON webhook_endpoint TO ade_app;

-- The delivery health of an endpoint. It is a separate table because it changes with every failure
-- and is not audited.
CREATE TABLE webhook_circuit (
    tenant_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    failures integer NOT NULL DEFAULT 0,
    open_until timestamptz,
    -- The time of the first failure in the current series.
    failing_since timestamptz,
    problem text,
    delivered_at timestamptz,
    CONSTRAINT webhook_circuit_pkey PRIMARY KEY (tenant_id, endpoint_id),
    CONSTRAINT webhook_circuit_is_of_an_endpoint FOREIGN KEY (tenant_id, endpoint_id)
        REFERENCES webhook_endpoint (tenant_id, id),
    CONSTRAINT webhook_circuit_failures_are_natural CHECK (failures >= 0)
) WITH (fillfactor = 50);
-- Serves the metric of open circuits, which covers all tenants.
CREATE INDEX webhook_circuit_open ON webhook_circuit (open_until) WHERE open_until IS NOT NULL;
SELECT keep_to_tenant('webhook_circuit');
-- The functions run as the owner, to whom FORCE applies as well.
CREATE POLICY owner_counts ON webhook_circuit FOR SELECT TO CURRENT_USER USING (true);
GRANT SELECT, INSERT, UPDATE ON webhook_circuit TO ade_app;

CREATE TABLE webhook_delivery (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    -- The same id in every attempt and for every endpoint that receives the event.
    event_id text NOT NULL,
    -- The number of the event in its tenant, or NULL for a test event.
    seq bigint,
    kind text NOT NULL,
    object text NOT NULL,
    body text NOT NULL,
    -- `waiting` means that an earlier event of the same object is still being delivered.
    state text NOT NULL,
    tries integer NOT NULL DEFAULT 0,
    next_at timestamptz NOT NULL,
    -- The process that sends it now, and the end of its claim.
    sender uuid,
    sending_until timestamptz,
    -- The result of the last attempt.
    status integer,
    excerpt text,
    problem text,
    created_at timestamptz NOT NULL,
    -- Later than `created_at` if it was redelivered manually.
    queued_at timestamptz NOT NULL,
    tried_at timestamptz,
    ended_at timestamptz,
    CONSTRAINT webhook_delivery_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT webhook_delivery_is_for_an_endpoint FOREIGN KEY (tenant_id, endpoint_id)
        REFERENCES webhook_endpoint (tenant_id, id),
    -- Each event creates one delivery, even if the consumer reads it again.
    CONSTRAINT webhook_delivery_is_made_once UNIQUE (tenant_id, endpoint_id, seq),
    CONSTRAINT webhook_delivery_state_is_known CHECK (
        state IN ('waiting', 'pending', 'delivered', 'dead')),
    CONSTRAINT webhook_delivery_ends_once CHECK (
        (state IN ('delivered', 'dead')) = (ended_at IS NOT NULL)),
    CONSTRAINT webhook_delivery_is_sent_by_a_worker CHECK (
        (sender IS NULL) = (sending_until IS NULL)),
    CONSTRAINT webhook_delivery_is_sent_when_its_turn_comes CHECK (
        sender IS NULL OR state = 'pending'),
    CONSTRAINT webhook_delivery_tries_are_natural CHECK (tries >= 0)
) WITH (fillfactor = 70);
CREATE INDEX webhook_delivery_next ON webhook_delivery (tenant_id, endpoint_id, next_at)
    WHERE state = 'pending' AND sending_until IS NULL;
CREATE INDEX webhook_delivery_sending ON webhook_delivery (tenant_id, sending_until)
    WHERE sending_until IS NOT NULL;
CREATE INDEX webhook_delivery_in_line ON webhook_delivery (tenant_id, endpoint_id, object, seq)
    WHERE state IN ('waiting', 'pending');
-- Finds deliveries of an endpoint that have been pending for too long.
CREATE INDEX webhook_delivery_open ON webhook_delivery (tenant_id, endpoint_id, queued_at)
    WHERE state IN ('waiting', 'pending');
CREATE INDEX webhook_delivery_of_endpoint ON webhook_delivery (tenant_id, endpoint_id, id);
CREATE INDEX webhook_delivery_ended ON webhook_delivery (tenant_id, ended_at)
    WHERE ended_at IS NOT NULL;
SELECT keep_to_tenant('webhook_delivery');
CREATE POLICY owner_looks_for_old ON webhook_delivery FOR SELECT TO CURRENT_USER USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_delivery TO ade_app;

-- A consumer that is stuck, and the reason. Up to `singly_until` it processes one event at a time
-- to isolate the failing one.
CREATE TABLE consumer_trouble (
    tenant_id uuid NOT NULL,
    consumer text NOT NULL,
    tenant_seq bigint NOT NULL,
    singly_until bigint NOT NULL,
    tries integer NOT NULL,
    problem text NOT NULL,
    since timestamptz NOT NULL,
    next_at timestamptz NOT NULL,
    CONSTRAINT consumer_trouble_pkey PRIMARY KEY (tenant_id, consumer),
    CONSTRAINT consumer_trouble_is_of_a_tenant FOREIGN KEY (tenant_id)
        REFERENCES tenant (tenant_id),
    CONSTRAINT consumer_trouble_tries_are_natural CHECK (tries >= 0),
    CONSTRAINT consumer_trouble_problem_is_bounded CHECK (octet_length(problem) <= 2048)
) WITH (fillfactor = 50);
SELECT keep_to_tenant('consumer_trouble');
GRANT SELECT, INSERT, UPDATE, DELETE ON consumer_trouble TO ade_app;

-- The complete event, because the outbox does not keep it forever.
CREATE TABLE dead_event (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    consumer text NOT NULL,
    tenant_seq bigint NOT NULL,
    event_id uuid NOT NULL,
    kind text NOT NULL,
    object text NOT NULL,
    version bigint,
    actor text,
    at timestamptz NOT NULL,
    payload text NOT NULL,
    -- `redriving`: an operator requested a retry. `taken`: the retry succeeded.
    state text NOT NULL,
    tries integer NOT NULL,
    problem text NOT NULL,
    died_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT dead_event_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT dead_event_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT dead_event_dies_once UNIQUE (tenant_id, consumer, tenant_seq),
    CONSTRAINT dead_event_state_is_known CHECK (state IN ('dead', 'redriving', 'taken')),
    CONSTRAINT dead_event_was_tried CHECK (tries >= 1),
    CONSTRAINT dead_event_problem_is_bounded CHECK (octet_length(problem) <= 2048)
) WITH (fillfactor = 80);
CREATE INDEX dead_event_of_group ON dead_event (tenant_id, consumer, id) WHERE state = 'dead';
SELECT keep_to_tenant('dead_event');
GRANT SELECT, INSERT, UPDATE ON dead_event TO ade_app;

-- The batches that were exported: which events, to which destination, and a hash of what was
-- written.
CREATE TABLE export_batch (
    tenant_id uuid NOT NULL,
    consumer text NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    sink text NOT NULL,
    sha256 bytea NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT export_batch_pkey PRIMARY KEY (tenant_id, consumer, first_seq),
    CONSTRAINT export_batch_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT export_batch_is_in_order CHECK (first_seq BETWEEN 1 AND last_seq),
    CONSTRAINT export_batch_hash_is_sha256 CHECK (octet_length(sha256) = 32),
    CONSTRAINT export_batch_sink_is_short CHECK (octet_length(sink) BETWEEN 1 AND 512)
);
SELECT keep_to_tenant('export_batch');
GRANT SELECT, INSERT ON export_batch TO ade_app;

-- The number of events of each kind in each UTC hour. It is updated together with the consumer
-- position, so that each event counts once.
CREATE TABLE event_rate (
    tenant_id uuid NOT NULL,
    hour timestamptz NOT NULL,
    kind text COLLATE "C" NOT NULL,
    count bigint NOT NULL,
    CONSTRAINT event_rate_pkey PRIMARY KEY (tenant_id, hour, kind),
    CONSTRAINT event_rate_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT event_rate_counts_something CHECK (count >= 1)
) WITH (fillfactor = 80);
SELECT keep_to_tenant('event_rate');
GRANT SELECT, INSERT, UPDATE ON event_rate TO ade_app;

CREATE TABLE inbound_source (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    label text NOT NULL,
    -- The author of the tasks that inbound messages propose.
    agent_id uuid NOT NULL,
    template json NOT NULL,
    -- The secret is derived from this salt and the pepper of the installation and is not stored.
    salt bytea NOT NULL,
    -- The previous salt, whose secret is also accepted until this time.
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
    CONSTRAINT inbound_source_is_of_a_person FOREIGN KEY (tenant_id, created_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT inbound_source_label_is_short CHECK (octet_length(label) <= 128),
    CONSTRAINT inbound_source_salts_are_long CHECK (
        octet_length(salt) = 32 AND coalesce(octet_length(old_salt) = 32, true)),
    CONSTRAINT inbound_source_old_salt_ends CHECK ((old_salt IS NULL) = (old_until IS NULL)),
    CONSTRAINT inbound_source_counts_from_one CHECK (version >= 1)
);
SELECT keep_to_tenant('inbound_source');
GRANT SELECT, INSERT, UPDATE ON inbound_source TO ade_app;

-- The number of messages that a source sent in the current minute. It is not audited.
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
SELECT keep_to_tenant('inbound_minute');
GRANT SELECT, INSERT, UPDATE ON inbound_minute TO ade_app;

-- Numbers the oldest events of the tenants in these shards and returns them. A shard that another
-- process is numbering is skipped. The advisory locks are taken before the statement starts, so
-- that it sees everything that the previous holder committed.
CREATE FUNCTION number_events(wanted integer[], shards integer, most integer)
    RETURNS TABLE (tenant uuid, number bigint, event uuid, kind text, object text,
                   version bigint, actor text, at timestamptz, payload text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    shard integer;
    ours integer[] := '{}';
    tenants uuid[];
    times timestamptz[];
    seqs bigint[];
    earliest timestamptz;
    latest timestamptz;
    horizon timestamptz := public.moment() + interval '1 day';
BEGIN
    FOREACH shard IN ARRAY wanted LOOP
        IF pg_try_advisory_xact_lock(hashtextextended('number_events ' || shard, 0)) THEN
            ours := ours || shard;
        END IF;
    END LOOP;
    SELECT array_agg(o.tenant_id ORDER BY o.seq), array_agg(o.at ORDER BY o.seq),
           array_agg(o.seq ORDER BY o.seq), min(o.at), max(o.at)
      INTO tenants, times, seqs, earliest, latest
      FROM (SELECT o.tenant_id, o.at, o.seq FROM public.outbox o
             WHERE o.tenant_seq IS NULL AND o.at < horizon
               AND get_byte(uuid_send(o.tenant_id), 15) % shards = ANY (ours)
             ORDER BY o.seq LIMIT most) AS o;
    -- The statement below opens every partition, so it is skipped if there is nothing to number.
    IF seqs IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH batch AS MATERIALIZED (
        SELECT * FROM unnest(tenants, times, seqs) AS given (tenant_id, at, seq)),
    counted AS (
        SELECT b.tenant_id, count(*) AS events FROM batch b GROUP BY b.tenant_id),
    head AS (
        INSERT INTO public.event_head AS h (tenant_id, tenant_seq)
        SELECT c.tenant_id, c.events FROM counted c ORDER BY c.tenant_id
        ON CONFLICT ON CONSTRAINT event_head_pkey
           DO UPDATE SET tenant_seq = h.tenant_seq + excluded.tenant_seq
        RETURNING h.tenant_id, h.tenant_seq),
    numbered AS (
        SELECT b.tenant_id, b.at, b.seq,
               h.tenant_seq - c.events
                   + row_number() OVER (PARTITION BY b.tenant_id ORDER BY b.seq) AS given
          FROM batch b JOIN counted c USING (tenant_id) JOIN head h USING (tenant_id)),
    updated AS (
        UPDATE public.outbox o SET tenant_seq = n.given, id = public.uuid_v7()
          FROM numbered n
         WHERE (o.tenant_id, o.at, o.seq) = (n.tenant_id, n.at, n.seq)
           AND o.at BETWEEN earliest AND latest
        RETURNING o.tenant_id, o.tenant_seq, o.id, o.kind, o.object, o.version, o.actor, o.at,
                  o.payload::text AS payload)
    SELECT t.tenant_id, t.tenant_seq, t.id, t.kind, t.object, t.version, t.actor, t.at, t.payload
      FROM updated t ORDER BY t.tenant_id, t.tenant_seq;
END
$$;
REVOKE EXECUTE ON FUNCTION number_events(integer[], integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION number_events(integer[], integer, integer) TO ade_worker;

-- Returns the number and age of events that wait to be numbered, across tenants, without their
-- contents.
CREATE FUNCTION events_waiting(most integer, OUT waiting bigint, OUT oldest timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
    SET enable_seqscan = off
AS $$
    SELECT count(*), min(o.at)
      FROM (SELECT at FROM public.outbox WHERE tenant_seq IS NULL ORDER BY seq LIMIT most) AS o
$$;
REVOKE EXECUTE ON FUNCTION events_waiting(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION events_waiting(integer) TO ade_app, ade_worker;

-- Advances the position of tenants without an active endpoint, so that the outbox need not keep
-- events for them. An endpoint that is created later receives later events.
CREATE FUNCTION pass_over_unheard(reader text, most integer) RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    WITH passed AS (
        INSERT INTO public.consumer_cursor AS c (tenant_id, consumer, tenant_seq, moved_at)
        SELECT h.tenant_id, reader, h.tenant_seq, public.moment()
          FROM public.event_head h
          LEFT JOIN public.consumer_cursor o ON o.tenant_id = h.tenant_id AND o.consumer = reader
         WHERE h.tenant_seq > coalesce(o.tenant_seq, 0)
           AND NOT EXISTS (SELECT FROM public.webhook_endpoint e
                            WHERE e.tenant_id = h.tenant_id AND e.state = 'active'
                              AND e.deleted_at IS NULL)
         ORDER BY h.tenant_id
         LIMIT least(most, 10000)
        ON CONFLICT ON CONSTRAINT consumer_cursor_pkey
           DO UPDATE SET tenant_seq = excluded.tenant_seq, moved_at = excluded.moved_at
           WHERE c.tenant_seq < excluded.tenant_seq
        RETURNING 1)
    SELECT count(*) FROM passed
$$;
REVOKE EXECUTE ON FUNCTION pass_over_unheard(text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pass_over_unheard(text, integer) TO ade_worker;

-- Drops partitions of the outbox, oldest first: days that ended longer than `kept` ago and whose
-- events are all numbered and read by every consumer of their tenant. A later reader finds that the
-- numbers start later and reloads its state. The audit log keeps what happened. Dropping needs a
-- lock that blocks writers, so it waits only briefly and is retried in the next round.
CREATE FUNCTION drop_read_events(kept interval, most integer)
    RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
    SET timezone = 'UTC'
    SET lock_timeout = '200ms'
AS $$
DECLARE
    old record;
    dropped integer := 0;
BEGIN
    IF kept < interval '1 day' THEN
        RAISE EXCEPTION 'events are kept for a day at least, not %', kept
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('make_partitions', 0));
    FOR old IN
        SELECT c.relname::text AS name,
               to_date(substr(c.relname, 8), 'YYYY_MM_DD')::timestamptz AS day
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = 'public.outbox'::regclass AND c.relname LIKE 'outbox\_2%'
         ORDER BY c.relname
    LOOP
        EXIT WHEN dropped >= most OR old.day + interval '1 day' > public.moment() - kept;
        CONTINUE WHEN EXISTS (
            SELECT FROM public.outbox o
             WHERE o.tenant_seq IS NULL AND o.at >= old.day AND o.at < old.day + interval '1 day');
        CONTINUE WHEN EXISTS (
            SELECT FROM (SELECT o.tenant_id, max(o.tenant_seq) AS last FROM public.outbox o
                          WHERE o.at >= old.day AND o.at < old.day + interval '1 day'
                          GROUP BY o.tenant_id) AS newest
              JOIN public.consumer_cursor c USING (tenant_id)
             WHERE c.tenant_seq < newest.last);
        EXECUTE format('DROP TABLE public.%I', old.name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END
$$;
REVOKE EXECUTE ON FUNCTION drop_read_events(interval, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drop_read_events(interval, integer) TO ade_worker;

CREATE FUNCTION open_webhook_circuits() RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT count(*) FROM public.webhook_circuit c
      JOIN public.webhook_endpoint e ON (e.tenant_id, e.id) = (c.tenant_id, c.endpoint_id)
     WHERE c.open_until > public.moment() AND e.state = 'active' AND e.deleted_at IS NULL
$$;
REVOKE EXECUTE ON FUNCTION open_webhook_circuits() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION open_webhook_circuits() TO ade_worker;

-- Redelivers finished deliveries with a full set of attempts and returns how many. For each object,
-- the first is pending and the others wait.
CREATE FUNCTION webhook_redeliver(endpoint uuid, deliveries uuid[], again_at timestamptz)
    RETURNS bigint
    LANGUAGE plpgsql
    -- Without this setting, the planner may read the open deliveries of all objects.
    SET enable_sort = off
AS $$
DECLARE
    tenant uuid := public.current_tenant();
    own record;
    total bigint := 0;
BEGIN
    FOR own IN SELECT d.id, d.object
                 FROM unnest(deliveries) AS wanted (id)
                CROSS JOIN LATERAL (
                    SELECT o.id, o.object, o.seq, o.ended_at
                      FROM public.webhook_delivery o
                     WHERE o.tenant_id = tenant AND o.endpoint_id = endpoint
                       AND o.id = wanted.id LIMIT 1) AS d
                WHERE d.ended_at IS NOT NULL
                GROUP BY d.id, d.object, d.seq ORDER BY d.seq, d.id LOOP
        UPDATE public.webhook_delivery d
           SET tries = 0, next_at = again_at, queued_at = again_at, ended_at = NULL,
               state = CASE WHEN (
                       SELECT true FROM public.webhook_delivery other
                        WHERE other.tenant_id = tenant AND other.endpoint_id = endpoint
                          AND other.object = own.object AND other.state IN ('waiting', 'pending')
                        ORDER BY other.seq LIMIT 1)
                   THEN 'waiting' ELSE 'pending' END
         WHERE d.tenant_id = tenant AND d.endpoint_id = endpoint AND d.id = own.id
           AND num_nonnulls(d.ended_at) = 1;
        IF FOUND THEN
            total := total + 1;
        END IF;
    END LOOP;
    RETURN total;
END
$$;

-- Lists the tenants that have an active endpoint and events that it has not received, by id.
CREATE FUNCTION tenants_to_tell(reader text, after uuid, most integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT h.tenant_id
      FROM (SELECT DISTINCT e.tenant_id FROM public.webhook_endpoint e
             WHERE e.state = 'active' AND e.deleted_at IS NULL
               AND (after IS NULL OR e.tenant_id > after)) AS listening
      JOIN public.event_head h USING (tenant_id)
      LEFT JOIN public.consumer_cursor c ON c.tenant_id = h.tenant_id AND c.consumer = reader
     WHERE h.tenant_seq > coalesce(c.tenant_seq, 0)
     ORDER BY h.tenant_id
     LIMIT least(most, 1000)
$$;
REVOKE EXECUTE ON FUNCTION tenants_to_tell(text, uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenants_to_tell(text, uuid, integer) TO ade_worker;

-- Lists the tenants with deliveries to prune. Only tenant ids are returned across tenants.
CREATE FUNCTION tenants_with_old_deliveries(until timestamptz, most integer)
    RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT t.tenant_id
      FROM public.tenant t
     WHERE EXISTS (SELECT FROM public.webhook_delivery d
                    WHERE d.tenant_id = t.tenant_id AND d.ended_at <= until)
     ORDER BY t.tenant_id
     LIMIT least(most, 1000)
$$;
REVOKE EXECUTE ON FUNCTION tenants_with_old_deliveries(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenants_with_old_deliveries(timestamptz, integer) TO ade_worker;
