-- why: fenced locks ensure that a resource is changed by one holder at a time

-- The session of one process of an agent or of the server. One UPDATE every few seconds keeps it
-- alive, regardless of how many locks it holds.
CREATE TABLE agent_session (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    agent_id uuid,
    node text NOT NULL,
    opened_at timestamptz NOT NULL,
    lease_until timestamptz NOT NULL,
    closed_at timestamptz,
    -- Updated only by the heartbeat that extends `lease_until`. A session that belongs to one lease
    -- says nothing about its process.
    seen_at timestamptz,
    load integer,
    CONSTRAINT agent_session_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT agent_session_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT agent_session_agent_exists FOREIGN KEY (tenant_id, agent_id)
        REFERENCES agent (tenant_id, id),
    CONSTRAINT agent_session_node_is_short CHECK (octet_length(node) BETWEEN 1 AND 128),
    CONSTRAINT agent_session_load_is_in_range CHECK (load BETWEEN 0 AND 10000)
) WITH (fillfactor = 50);
CREATE INDEX agent_session_open ON agent_session (tenant_id, lease_until)
    WHERE closed_at IS NULL;
CREATE INDEX agent_session_seen ON agent_session (tenant_id, agent_id, seen_at)
    WHERE seen_at IS NOT NULL;
SELECT keep_to_tenant('agent_session');
GRANT SELECT, INSERT, UPDATE ON agent_session TO ade_app;

-- The epoch of the tenant's lock queue. It only increases; fencing tokens carry it in their high
-- bits.
CREATE TABLE lock_epoch (
    tenant_id uuid NOT NULL,
    epoch bigint NOT NULL,
    reason text NOT NULL,
    begun_at timestamptz NOT NULL,
    -- `replid` identifies the Redis primary under which the epoch began; NULL until a worker has
    -- checked. `used_at` is NULL until the queue may have granted a lock.
    replid text,
    used_at timestamptz,
    -- The number of requests that have been queued in this epoch.
    arrivals bigint NOT NULL DEFAULT 0,
    CONSTRAINT lock_epoch_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT lock_epoch_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT lock_epoch_is_in_range CHECK (epoch BETWEEN 1 AND 1048575),
    CONSTRAINT lock_epoch_reason_is_short CHECK (octet_length(reason) BETWEEN 1 AND 128),
    CONSTRAINT lock_epoch_replid_is_short CHECK (octet_length(replid) BETWEEN 1 AND 64),
    CONSTRAINT lock_epoch_arrivals_are_natural CHECK (arrivals >= 0)
);
SELECT keep_to_tenant('lock_epoch');
-- Only tenant ids are returned, in order, up to a limit.
CREATE POLICY owner_lists_spaces ON lock_epoch FOR SELECT TO CURRENT_USER USING (true);
GRANT SELECT, INSERT, UPDATE ON lock_epoch TO ade_app;

-- The highest fencing token of a resource. Registration locks this row first, so that two requests
-- for one resource are serialized.
CREATE TABLE lock_fence (
    tenant_id uuid NOT NULL,
    resource text COLLATE "C" NOT NULL,
    max_token bigint NOT NULL DEFAULT 0,
    CONSTRAINT lock_fence_pkey PRIMARY KEY (tenant_id, resource),
    CONSTRAINT lock_fence_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT lock_fence_token_is_natural CHECK (max_token >= 0)
) WITH (fillfactor = 70);
SELECT keep_to_tenant('lock_fence');
GRANT SELECT, INSERT, UPDATE ON lock_fence TO ade_app;

-- One resource held under one lease. The row outlives the hold, so that a fenced or released lease
-- cannot return under the same id.
CREATE TABLE lock_hold (
    tenant_id uuid NOT NULL,
    resource text COLLATE "C" NOT NULL,
    lease_id uuid NOT NULL,
    session_id uuid NOT NULL,
    mode text NOT NULL,
    capacity integer,
    token bigint NOT NULL,
    -- The owner as the queue knows it, needed to rebuild the queue.
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
    purpose text,
    -- The holder may have changed the resource. Silence does not end such a hold: the resource is
    -- not granted to another holder until the outcome is known.
    is_begun boolean NOT NULL DEFAULT false,
    -- The agent that requested the hold for itself, across its processes and servers.
    agent text GENERATED ALWAYS AS (
        CASE WHEN starts_with(owner, 'ags_') THEN split_part(node, '@', 1) END) STORED,
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
    CONSTRAINT lock_hold_ends_once CHECK (fenced_by IS NULL OR released_at IS NULL),
    CONSTRAINT lock_hold_purpose_is_short CHECK (octet_length(purpose) BETWEEN 1 AND 4096)
) WITH (fillfactor = 70);
CREATE INDEX lock_hold_open ON lock_hold (tenant_id, resource)
    WHERE fenced_by IS NULL AND released_at IS NULL;
-- Serves only queries by agent.
CREATE INDEX lock_hold_of_agent ON lock_hold (tenant_id, agent)
    WHERE agent IS NOT NULL AND fenced_by IS NULL AND released_at IS NULL;
SELECT keep_to_tenant('lock_hold');
GRANT SELECT, INSERT, UPDATE ON lock_hold TO ade_app;

-- Deadlocks that were detected, each with the request that was aborted. Lease ids are secrets and
-- are stored as hashes.
CREATE TABLE lock_deadlock (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    found_at timestamptz NOT NULL,
    victim text NOT NULL,
    cycle json NOT NULL,
    CONSTRAINT lock_deadlock_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT lock_deadlock_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT lock_deadlock_victim_is_short CHECK (octet_length(victim) BETWEEN 1 AND 128)
);
SELECT keep_to_tenant('lock_deadlock');
GRANT SELECT, INSERT ON lock_deadlock TO ade_app;

-- A queued lock request. A finished request is kept briefly, so that its waiting caller learns the
-- result. It is not authoritative: no commit depends on it.
CREATE TABLE lock_wait (
    tenant_id uuid NOT NULL,
    lease_id uuid NOT NULL,
    state text NOT NULL,
    owner text NOT NULL,
    node text NOT NULL,
    born_at timestamptz NOT NULL,
    ttl interval NOT NULL,
    lock_delay interval NOT NULL,
    patience interval NOT NULL,
    boost integer NOT NULL,
    place bigint NOT NULL,
    arrival bigint NOT NULL,
    deadline timestamptz NOT NULL,
    resources text[] COLLATE "C" NOT NULL,
    modes text[] NOT NULL,
    capacities integer[] NOT NULL,
    CONSTRAINT lock_wait_pkey PRIMARY KEY (tenant_id, lease_id),
    CONSTRAINT lock_wait_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT lock_wait_state_is_known CHECK (
        state IN ('waiting', 'victim', 'released', 'timed_out')),
    CONSTRAINT lock_wait_is_of_one_length CHECK (
        cardinality(resources) BETWEEN 1 AND 66 AND cardinality(modes) = cardinality(resources)
        AND cardinality(capacities) = cardinality(resources))
) WITH (fillfactor = 50);
CREATE INDEX lock_wait_by_deadline ON lock_wait (tenant_id, deadline);
-- An owner waits for one request at a time. With two, a grant could complete a deadlock as well.
CREATE UNIQUE INDEX lock_wait_of_an_owner ON lock_wait (tenant_id, owner)
    WHERE state = 'waiting';
SELECT keep_to_tenant('lock_wait');
GRANT SELECT, INSERT, UPDATE, DELETE ON lock_wait TO ade_app;

-- The time until which a caller has used up its rate limit, see the `rates` module.
CREATE TABLE lock_rate (
    tenant_id uuid NOT NULL,
    caller text NOT NULL,
    used_up timestamptz NOT NULL,
    CONSTRAINT lock_rate_pkey PRIMARY KEY (tenant_id, caller),
    CONSTRAINT lock_rate_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT lock_rate_caller_is_short CHECK (octet_length(caller) BETWEEN 1 AND 128)
) WITH (fillfactor = 50);
SELECT keep_to_tenant('lock_rate');
GRANT SELECT, INSERT, UPDATE, DELETE ON lock_rate TO ade_app;

-- Extends the deadline of queued requests whose callers are still waiting.
CREATE FUNCTION lock_touch(leases uuid[]) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    tenant uuid := public.current_tenant();
    lease uuid;
    stands boolean;
BEGIN
    -- Rows are locked in one order to avoid deadlocks between concurrent calls.
    FOR lease IN SELECT wanted FROM unnest(leases) AS wanted ORDER BY wanted LOOP
        -- The row is found by its key alone. With more conditions, the planner would scan all
        -- waiting requests.
        SELECT w.state = 'waiting' AND w.deadline > clock_timestamp() INTO stands
          FROM public.lock_wait w WHERE w.tenant_id = tenant AND w.lease_id = lease FOR UPDATE;
        IF stands THEN
            UPDATE public.lock_wait w SET deadline = clock_timestamp() + w.patience
             WHERE w.tenant_id = tenant AND w.lease_id = lease;
        END IF;
    END LOOP;
END
$$;

-- Returns whether one more holder fits beside the present ones. If capacities differ, the smallest
-- applies.
CREATE FUNCTION lock_fits(wanted text, room integer, modes text[], capacities integer[])
    RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN cardinality(modes) = 0 THEN true
        WHEN wanted = 'exclusive' THEN false
        WHEN EXISTS (SELECT FROM unnest(modes) held WHERE held <> wanted) THEN false
        WHEN wanted = 'shared' THEN true
        ELSE cardinality(modes) < least(room, (SELECT min(c) FROM unnest(capacities) c))
    END;

-- Counts the resources that an agent keeps from others. A hold that may be fenced does not count.
CREATE FUNCTION lock_taken(by_agent text) RETURNS bigint
    LANGUAGE plpgsql
AS $$
BEGIN
    RETURN (SELECT count(*) FROM public.lock_hold h
             WHERE h.tenant_id = public.current_tenant() AND h.agent = by_agent
               AND h.fenced_by IS NULL AND h.released_at IS NULL
               AND h.deadline + h.lock_delay > clock_timestamp());
END
$$;

-- Returns the highest fencing token of each resource and locks the rows in order until the
-- transaction ends. A resource without a row gets one.
CREATE FUNCTION lock_fences(resources text[]) RETURNS bigint[]
    LANGUAGE plpgsql
AS $$
DECLARE
    tenant uuid := public.current_tenant();
    tokens bigint[] := '{}';
    highest bigint;
BEGIN
    FOR i IN 1 .. cardinality(resources) LOOP
        SELECT f.max_token INTO highest FROM public.lock_fence f
         WHERE f.tenant_id = tenant AND f.resource = resources[i] FOR UPDATE;
        IF NOT FOUND THEN
            INSERT INTO public.lock_fence (tenant_id, resource) VALUES (tenant, resources[i])
            ON CONFLICT ON CONSTRAINT lock_fence_pkey DO NOTHING;
            -- A concurrent insert has committed by now, and its row is visible.
            SELECT f.max_token INTO highest FROM public.lock_fence f
             WHERE f.tenant_id = tenant AND f.resource = resources[i] FOR UPDATE;
        END IF;
        tokens := tokens || highest;
    END LOOP;
    RETURN tokens;
END
$$;

-- Fences the open holds of the leases and returns the leases that were affected. It waits for
-- concurrent assertions of these leases and locks holds in the common order.
CREATE FUNCTION lock_fence_off(leases uuid[], by_lease uuid, only_dead boolean)
    RETURNS SETOF uuid
    LANGUAGE plpgsql
AS $$
DECLARE
    own record;
    ended uuid[] := '{}';
BEGIN
    FOR own IN SELECT h.resource, h.lease_id FROM public.lock_holds_of(leases) AS h
                ORDER BY h.resource, h.lease_id LOOP
        UPDATE public.lock_hold h SET fenced_by = by_lease, fenced_at = clock_timestamp()
         WHERE h.tenant_id = public.current_tenant() AND h.lease_id = own.lease_id
           AND h.resource = own.resource AND h.fenced_by IS NULL AND h.released_at IS NULL
           AND NOT (only_dead
                    AND (h.is_begun OR h.deadline + h.lock_delay > clock_timestamp()));
        IF FOUND THEN
            ended := ended || own.lease_id;
        END IF;
    END LOOP;
    RETURN QUERY SELECT DISTINCT lease FROM unnest(ended) AS lease;
END
$$;

-- Fences expired holds on one resource if a new holder would not fit beside them, and returns the
-- live leases that block it. The caller has locked the fence row, so no registration runs
-- concurrently and holds can only end.
CREATE FUNCTION lock_make_room(target text, lease uuid, wanted text, room integer)
    RETURNS uuid[]
    LANGUAGE plpgsql
AS $$
DECLARE
    modes text[];
    capacities integer[];
    living uuid[];
BEGIN
    SELECT coalesce(array_agg(h.mode), '{}'), coalesce(array_agg(h.capacity), '{}')
      INTO modes, capacities
      FROM public.lock_hold h
     WHERE h.tenant_id = public.current_tenant() AND h.resource = target
       AND h.fenced_by IS NULL AND h.released_at IS NULL;
    IF public.lock_fits(wanted, room, modes, capacities) THEN
        RETURN '{}';
    END IF;
    -- Waits for concurrent assertions and heartbeats, and then judges the current state.
    PERFORM FROM public.lock_hold h
      WHERE h.tenant_id = public.current_tenant() AND h.resource = target
        AND h.fenced_by IS NULL AND h.released_at IS NULL
      ORDER BY h.lease_id FOR UPDATE;
    SELECT coalesce(array_agg(h.mode), '{}'), coalesce(array_agg(h.capacity), '{}'),
           coalesce(array_agg(h.lease_id ORDER BY h.lease_id), '{}')
      INTO modes, capacities, living
      FROM public.lock_hold h
     WHERE h.tenant_id = public.current_tenant() AND h.resource = target
       AND h.fenced_by IS NULL AND h.released_at IS NULL
       AND (h.is_begun OR h.deadline + h.lock_delay > clock_timestamp());
    IF NOT public.lock_fits(wanted, room, modes, capacities) THEN
        RETURN living;
    END IF;
    UPDATE public.lock_hold h SET fenced_by = lease, fenced_at = clock_timestamp()
     WHERE h.tenant_id = public.current_tenant() AND h.resource = target
       AND h.fenced_by IS NULL AND h.released_at IS NULL AND h.lease_id <> ALL (living);
    RETURN '{}';
END
$$;

-- Registers a granted lease. `most` limits the resources that the requesting agent may hold;
-- without it they are not counted.
CREATE FUNCTION lock_register(
    lease uuid, session uuid, given_token bigint, resources text[], modes text[],
    capacities integer[], lease_owner text, lease_node text, born timestamptz,
    lease_ttl interval, delay interval, most bigint DEFAULT NULL,
    OUT refusal text, OUT refused_on text, OUT number bigint, OUT held_by uuid[]
)
    LANGUAGE plpgsql
AS $$
DECLARE
    tenant uuid := public.current_tenant();
    asker text := split_part(lease_node, '@', 1);
    tokens bigint[];
    known record;
BEGIN
    PERFORM FROM public.agent_session s
      WHERE s.tenant_id = tenant AND s.id = session AND s.closed_at IS NULL
        AND s.lease_until > clock_timestamp() FOR SHARE;
    IF NOT FOUND THEN
        refusal := 'session_dead';
        RETURN;
    END IF;
    SELECT e.epoch INTO number FROM public.lock_epoch e WHERE e.tenant_id = tenant FOR SHARE;
    IF number IS DISTINCT FROM given_token >> 33 THEN
        refusal := 'stale_epoch';
        RETURN;
    END IF;
    IF most IS NOT NULL THEN
        -- Registrations of one agent are serialized, so that each counts the other. The lock is
        -- taken before the rows of resources to avoid deadlocks.
        PERFORM pg_advisory_xact_lock(
            hashtextextended('locks of ' || asker || ' in ' || tenant, 0));
    END IF;
    tokens := public.lock_fences(resources);
    SELECT count(*) AS rows, count(*) FILTER (
               WHERE h.token = given_token AND h.fenced_by IS NULL AND h.released_at IS NULL
                 AND (h.resource, h.mode, h.capacity) IS NOT DISTINCT FROM
                     (w.resource, w.mode, w.capacity)) AS same
      INTO known
      FROM public.lock_hold h
      LEFT JOIN unnest(resources, modes, capacities) AS w (resource, mode, capacity)
        ON w.resource = h.resource
     WHERE h.tenant_id = tenant AND h.lease_id = lease;
    IF known.rows > 0 THEN
        -- The same registration again: its response was lost. Any other registration under this id
        -- could revive a fenced lease.
        IF known.same < known.rows OR known.rows <> cardinality(resources) THEN
            refusal := 'lease_spent';
        END IF;
        RETURN;
    END IF;
    IF most IS NOT NULL THEN
        number := public.lock_taken(asker);
        IF number + cardinality(resources) > most THEN
            refusal := 'too_many';
            RETURN;
        END IF;
    END IF;
    FOR i IN 1 .. cardinality(resources) LOOP
        IF given_token <= tokens[i] THEN
            number := tokens[i];
            refusal := 'token_low';
            refused_on := resources[i];
            RETURN;
        END IF;
        held_by := public.lock_make_room(resources[i], lease, modes[i], capacities[i]);
        IF cardinality(held_by) > 0 THEN
            refusal := 'held';
            refused_on := resources[i];
            RETURN;
        END IF;
        UPDATE public.lock_fence f SET max_token = given_token
         WHERE f.tenant_id = tenant AND f.resource = resources[i];
    END LOOP;
    INSERT INTO public.lock_hold (tenant_id, resource, lease_id, session_id, mode, capacity, token,
                                  owner, node, born_at, ttl, lock_delay, registered_at, deadline)
    SELECT tenant, w.resource, lease, session, w.mode, w.capacity, given_token, lease_owner,
           lease_node, born, lease_ttl, delay, clock_timestamp(), clock_timestamp() + lease_ttl
      FROM unnest(resources, modes, capacities) AS w (resource, mode, capacity);
END
$$;

-- Extends leases. A lease that an agent requested for itself is kept for at most `longest` after
-- its registration; a heartbeat beyond that does not extend it and reports it as spent. A lease
-- that another holder may already take is not revived.
CREATE FUNCTION lock_extend(leases uuid[], longest interval DEFAULT NULL)
    RETURNS TABLE (lease uuid, is_open boolean, given_token bigint, until timestamptz,
                   is_spent boolean)
    LANGUAGE plpgsql
AS $$
DECLARE
    tenant uuid := public.current_tenant();
    own record;
    heard timestamptz;
    is_lapsed boolean;
BEGIN
    FOR own IN SELECT h.resource, h.lease_id FROM public.lock_holds_of(leases) AS h
                ORDER BY h.resource, h.lease_id LOOP
        PERFORM FROM public.lock_hold h
          WHERE h.tenant_id = tenant AND h.lease_id = own.lease_id AND h.resource = own.resource
          FOR NO KEY UPDATE;
    END LOOP;
    -- One timestamp is used for checking and for writing.
    heard := clock_timestamp();
    FOR lease IN SELECT DISTINCT wanted FROM unnest(leases) AS wanted LOOP
        SELECT bool_and(h.fenced_by IS NULL AND h.released_at IS NULL), max(h.token),
               max(h.deadline),
               coalesce(bool_or(h.agent IS NOT NULL
                                AND heard + h.ttl > h.registered_at + longest), false),
               bool_or(h.agent IS NOT NULL AND h.deadline + h.lock_delay <= heard)
          INTO is_open, given_token, until, is_spent, is_lapsed
          FROM public.lock_hold h WHERE h.tenant_id = tenant AND h.lease_id = lease;
        CONTINUE WHEN is_open IS NULL;
        is_spent := is_open AND is_spent;
        IF is_spent THEN
            is_open := until > heard;
        ELSIF is_lapsed THEN
            is_open := false;
        ELSIF is_open THEN
            UPDATE public.lock_hold h SET deadline = greatest(h.deadline, heard + h.ttl)
             WHERE h.tenant_id = tenant AND h.lease_id = lease;
            SELECT max(h.deadline) INTO until
              FROM public.lock_hold h WHERE h.tenant_id = tenant AND h.lease_id = lease;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

-- Returns the holds of the leases. They are always locked by resource, then by lease.
CREATE FUNCTION lock_holds_of(leases uuid[]) RETURNS TABLE (resource text, lease_id uuid)
    LANGUAGE sql STABLE
AS $$
    SELECT h.resource, h.lease_id FROM unnest(leases) AS wanted (lease)
     CROSS JOIN LATERAL (
        SELECT own.resource, own.lease_id FROM public.lock_hold own
         WHERE own.tenant_id = public.current_tenant() AND own.lease_id = wanted.lease
        OFFSET 0) AS h
$$;

CREATE FUNCTION tenants_with_locks(after uuid, most integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT e.tenant_id FROM public.lock_epoch e
     WHERE after IS NULL OR e.tenant_id > after
     ORDER BY e.tenant_id
     LIMIT least(most, 1000)
$$;
REVOKE EXECUTE ON FUNCTION tenants_with_locks(uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenants_with_locks(uuid, integer) TO ade_worker;
