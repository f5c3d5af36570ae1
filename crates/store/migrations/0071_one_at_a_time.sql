-- why: for a list of names or leases all rows of a tenant were read, under plans made while it had
-- few: each is asked for by itself

-- The highest token of each of these resources, locked in their order until the transaction ends.
-- One that nobody has asked for before gets its row here.
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
            -- Somebody else's, if there was one on its way: it is seen now.
            SELECT f.max_token INTO highest FROM public.lock_fence f
             WHERE f.tenant_id = tenant AND f.resource = resources[i] FOR UPDATE;
        END IF;
        tokens := tokens || highest;
    END LOOP;
    RETURN tokens;
END
$$;

CREATE OR REPLACE FUNCTION lock_register(
    lease uuid, session uuid, given_token bigint, resources text[], modes text[],
    capacities integer[], lease_owner text, lease_node text, born timestamptz,
    lease_ttl interval, delay interval,
    OUT refusal text, OUT refused_on text, OUT number bigint, OUT held_by uuid[]
)
    LANGUAGE plpgsql
AS $$
DECLARE
    tenant uuid := public.current_tenant();
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
        -- The same again: its first answer was lost. Anything else would let a fenced one back.
        IF known.same < known.rows OR known.rows <> cardinality(resources) THEN
            refusal := 'lease_spent';
        END IF;
        RETURN;
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

CREATE OR REPLACE FUNCTION apply_register(
    lease uuid, session uuid, own_session boolean, agent uuid, queue_token bigint,
    resources text[], modes text[], capacities integer[], lease_owner text, lease_node text,
    born timestamptz, lease_ttl interval, delay interval,
    OUT refusal text, OUT refused_on text, OUT number bigint, OUT held_by uuid[],
    OUT given_token bigint, OUT until timestamptz
)
    LANGUAGE plpgsql
AS $$
DECLARE
    tenant uuid := public.current_tenant();
    floor bigint;
BEGIN
    INSERT INTO public.lock_epoch (tenant_id, epoch, reason, begun_at)
    VALUES (tenant, 1, 'first', clock_timestamp())
    ON CONFLICT ON CONSTRAINT lock_epoch_pkey DO NOTHING;
    IF own_session THEN
        INSERT INTO public.agent_session (tenant_id, id, agent_id, node, opened_at, lease_until)
        VALUES (tenant, session, agent, lease_node, clock_timestamp(),
                clock_timestamp() + lease_ttl)
        ON CONFLICT ON CONSTRAINT agent_session_pkey DO NOTHING;
    END IF;
    given_token := queue_token;
    IF given_token IS NULL THEN
        SELECT e.epoch << 33 INTO floor FROM public.lock_epoch e
         WHERE e.tenant_id = tenant FOR SHARE;
        SELECT greatest(floor, max(seen)) + 1 INTO given_token
          FROM unnest(public.lock_fences(resources)) AS seen;
    END IF;
    SELECT r.refusal, r.refused_on, r.number, r.held_by
      INTO refusal, refused_on, number, held_by
      FROM public.lock_register(lease, session, given_token, resources, modes, capacities,
                                lease_owner, lease_node, born, lease_ttl, delay) AS r;
    IF refusal IS NULL THEN
        SELECT min(h.deadline) INTO until FROM public.lock_hold h
         WHERE h.tenant_id = tenant AND h.lease_id = lease;
    END IF;
END
$$;

-- The holds of these leases; whoever locks them does so by resource, then by lease.
CREATE FUNCTION lock_holds_of(leases uuid[]) RETURNS TABLE (resource text, lease_id uuid)
    LANGUAGE sql STABLE
AS $$
    SELECT h.resource, h.lease_id FROM unnest(leases) AS wanted (lease)
     CROSS JOIN LATERAL (
        SELECT own.resource, own.lease_id FROM public.lock_hold own
         WHERE own.tenant_id = public.current_tenant() AND own.lease_id = wanted.lease
        OFFSET 0) AS h
$$;

CREATE OR REPLACE FUNCTION lock_extend(leases uuid[])
    RETURNS TABLE (lease uuid, is_open boolean, given_token bigint, until timestamptz)
    LANGUAGE plpgsql
AS $$
DECLARE
    tenant uuid := public.current_tenant();
    own record;
BEGIN
    FOR own IN SELECT h.resource, h.lease_id FROM public.lock_holds_of(leases) AS h
                ORDER BY h.resource, h.lease_id LOOP
        PERFORM FROM public.lock_hold h
          WHERE h.tenant_id = tenant AND h.lease_id = own.lease_id AND h.resource = own.resource
          FOR NO KEY UPDATE;
    END LOOP;
    FOR lease IN SELECT DISTINCT wanted FROM unnest(leases) AS wanted LOOP
        UPDATE public.lock_hold h SET deadline = greatest(h.deadline, clock_timestamp() + h.ttl)
         WHERE h.tenant_id = tenant AND h.lease_id = lease
           AND NOT EXISTS (
               SELECT FROM public.lock_hold other
                WHERE other.tenant_id = tenant AND other.lease_id = lease
                  AND (other.fenced_by IS NOT NULL OR other.released_at IS NOT NULL));
        SELECT bool_and(h.fenced_by IS NULL AND h.released_at IS NULL), max(h.token),
               max(h.deadline)
          INTO is_open, given_token, until
          FROM public.lock_hold h WHERE h.tenant_id = tenant AND h.lease_id = lease;
        IF is_open IS NOT NULL THEN
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION lock_fence_off(leases uuid[], by_lease uuid, only_dead boolean)
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

-- A sign of life of those who still stand in line.
CREATE FUNCTION lock_touch(leases uuid[]) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    tenant uuid := public.current_tenant();
    lease uuid;
    stands boolean;
BEGIN
    -- In one order, so that two who touch the same wait for each other only once.
    FOR lease IN SELECT wanted FROM unnest(leases) AS wanted ORDER BY wanted LOOP
        -- By its key alone: with the rest it would be looked for among all who wait.
        SELECT w.state = 'waiting' AND w.deadline > clock_timestamp() INTO stands
          FROM public.lock_wait w WHERE w.tenant_id = tenant AND w.lease_id = lease FOR UPDATE;
        IF stands THEN
            UPDATE public.lock_wait w SET deadline = clock_timestamp() + w.patience
             WHERE w.tenant_id = tenant AND w.lease_id = lease;
        END IF;
    END LOOP;
END
$$;
