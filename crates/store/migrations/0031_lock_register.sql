-- why: registering a hold is one call that judges and writes under locks taken in one order

-- Whether one more may hold beside these. Where capacities differ, the least rules.
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

-- Fences the dead on one resource if one more would not fit beside them; the leases that are in
-- the way and alive, if any. The caller has locked the fence row: nobody registers meanwhile, and
-- holds can only go.
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
    -- Waits for whoever asserts one of them now, and for heartbeats: judged is what is then.
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
       AND h.deadline + h.lock_delay > clock_timestamp();
    IF NOT public.lock_fits(wanted, room, modes, capacities) THEN
        RETURN living;
    END IF;
    UPDATE public.lock_hold h SET fenced_by = lease, fenced_at = clock_timestamp()
     WHERE h.tenant_id = public.current_tenant() AND h.resource = target
       AND h.fenced_by IS NULL AND h.released_at IS NULL AND h.lease_id <> ALL (living);
    RETURN '{}';
END
$$;

-- All resources or none: whoever is refused must roll back. `resources` comes in the order of its
-- text, which is the order of every lock on these rows. By this server's clock.
CREATE FUNCTION lock_register(
    lease uuid, session uuid, given_token bigint, resources text[], modes text[],
    capacities integer[], lease_owner text, lease_node text, born timestamptz,
    lease_ttl interval, delay interval,
    OUT refusal text, OUT refused_on text, OUT number bigint, OUT held_by uuid[]
)
    LANGUAGE plpgsql
AS $$
DECLARE
    tenant uuid := public.current_tenant();
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
    INSERT INTO public.lock_fence (tenant_id, resource)
    SELECT tenant, wanted FROM unnest(resources) AS wanted
    ON CONFLICT ON CONSTRAINT lock_fence_pkey DO NOTHING;
    PERFORM FROM public.lock_fence f
      WHERE f.tenant_id = tenant AND f.resource = ANY (resources)
      ORDER BY f.resource FOR UPDATE;
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
        SELECT f.max_token INTO number FROM public.lock_fence f
         WHERE f.tenant_id = tenant AND f.resource = resources[i];
        IF given_token <= number THEN
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
    END LOOP;
    UPDATE public.lock_fence f SET max_token = given_token
     WHERE f.tenant_id = tenant AND f.resource = ANY (resources);
    INSERT INTO public.lock_hold (tenant_id, resource, lease_id, session_id, mode, capacity, token,
                                  owner, node, born_at, ttl, lock_delay, registered_at, deadline)
    SELECT tenant, w.resource, lease, session, w.mode, w.capacity, given_token, lease_owner,
           lease_node, born, lease_ttl, delay, clock_timestamp(), clock_timestamp() + lease_ttl
      FROM unnest(resources, modes, capacities) AS w (resource, mode, capacity);
END
$$;
