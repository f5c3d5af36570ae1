-- why: locks over HTTP need their purpose, their history, and workers that find their tenants

-- Which life of a Redis master the epoch was begun under; NULL until a worker has looked.
-- And since when its queue is in use; NULL while nobody can have been granted anything.
ALTER TABLE lock_epoch ADD COLUMN replid text, ADD COLUMN used_at timestamptz,
    ADD CONSTRAINT lock_epoch_replid_is_short CHECK (octet_length(replid) BETWEEN 1 AND 64);

ALTER TABLE lock_hold ADD COLUMN purpose text,
    ADD CONSTRAINT lock_hold_purpose_is_short CHECK (octet_length(purpose) BETWEEN 1 AND 4096);

-- Circles of waits that were found, each with the wait that was ended. Lease ids are secrets, so
-- they are here as hashes.
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
UPDATE lock_epoch SET used_at = begun_at;

-- Nothing but tenant ids comes out, so many at a time, in their order.
CREATE POLICY owner_lists_spaces ON lock_epoch FOR SELECT TO CURRENT_USER USING (true);
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

-- Ends open holds of these leases for whoever is told to; waits for whoever asserts one of them
-- now. In the order in which everybody locks holds. The leases of which something was ended.
CREATE FUNCTION lock_fence_off(leases uuid[], by_lease uuid, only_dead boolean)
    RETURNS SETOF uuid
    LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM FROM public.lock_hold h
      WHERE h.tenant_id = public.current_tenant() AND h.lease_id = ANY (leases)
        AND h.fenced_by IS NULL AND h.released_at IS NULL
      ORDER BY h.resource, h.lease_id FOR UPDATE;
    RETURN QUERY
    WITH ended AS (
        UPDATE public.lock_hold h SET fenced_by = by_lease, fenced_at = clock_timestamp()
         WHERE h.tenant_id = public.current_tenant() AND h.lease_id = ANY (leases)
           AND h.fenced_by IS NULL AND h.released_at IS NULL
           AND NOT (only_dead AND h.deadline + h.lock_delay > clock_timestamp())
        RETURNING h.lease_id)
    SELECT DISTINCT e.lease_id FROM ended e;
END
$$;

-- Heartbeats of many leases. One that was fenced in part is not extended at all: it can no longer
-- commit, and must not keep the rest of its set from others. A row for each lease that is known.
CREATE FUNCTION lock_extend(leases uuid[])
    RETURNS TABLE (lease uuid, is_open boolean, given_token bigint, until timestamptz)
    LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM FROM public.lock_hold h
      WHERE h.tenant_id = public.current_tenant() AND h.lease_id = ANY (leases)
      ORDER BY h.resource, h.lease_id FOR NO KEY UPDATE;
    UPDATE public.lock_hold h SET deadline = greatest(h.deadline, clock_timestamp() + h.ttl)
     WHERE h.tenant_id = public.current_tenant() AND h.lease_id = ANY (leases)
       AND NOT EXISTS (
           SELECT FROM public.lock_hold other
            WHERE other.tenant_id = h.tenant_id AND other.lease_id = h.lease_id
              AND (other.fenced_by IS NOT NULL OR other.released_at IS NOT NULL));
    RETURN QUERY
    SELECT h.lease_id, bool_and(h.fenced_by IS NULL AND h.released_at IS NULL),
           max(h.token), max(h.deadline)
      FROM public.lock_hold h
     WHERE h.tenant_id = public.current_tenant() AND h.lease_id = ANY (leases)
     GROUP BY h.lease_id;
END
$$;
