-- why: one agent could hold all there is, and keep each lock for ever by heartbeats

-- Whose a hold is, if an agent asked for itself: whichever of its processes, on whichever server.
ALTER TABLE lock_hold ADD COLUMN agent text GENERATED ALWAYS AS (
    CASE WHEN starts_with(owner, 'ags_') THEN split_part(node, '@', 1) END) STORED;
-- Of use to nobody who does not ask for an agent.
CREATE INDEX lock_hold_of_agent ON lock_hold (tenant_id, agent)
    WHERE agent IS NOT NULL AND fenced_by IS NULL AND released_at IS NULL;

-- How many resources an agent keeps from others. A hold that may be fenced keeps nobody out.
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

DROP FUNCTION lock_register(uuid, uuid, bigint, text[], text[], integer[], text, text,
                            timestamptz, interval, interval);
-- `most` is how many resources the agent that asks may hold; without it they are not counted.
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
        -- One at a time of one agent, or two would not count each other. Before the rows of
        -- resources: whoever has one of those waits for nobody of its own.
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
        -- The same again: its first answer was lost. Anything else would let a fenced one back.
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

DROP FUNCTION lock_extend(uuid[]);
-- A lease that an agent asked for itself is kept for no longer than `longest` after it was
-- registered. A heartbeat that would go past that gives nothing: it is spent, and runs out as if
-- its holder had gone. One that anybody may take by now does not come back: it is counted no more.
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
    -- One moment for all: what is judged is what is written.
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
