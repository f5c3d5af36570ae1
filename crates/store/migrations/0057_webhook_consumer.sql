-- why: reading events costs as much as tenants have endpoints, not as there are tenants

-- Those with an endpoint and with events it has not been told, by id.
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

-- Where nobody listens, what happened is passed over, so that it need not be kept for a reader who
-- never comes. An endpoint that is entered meanwhile hears of what happens once it is there.
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

CREATE POLICY owner_passes_over ON consumer_cursor TO CURRENT_USER USING (true) WITH CHECK (true);
REVOKE EXECUTE ON FUNCTION tenants_to_tell(text, uuid, integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pass_over_unheard(text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenants_to_tell(text, uuid, integer) TO ade_worker;
GRANT EXECUTE ON FUNCTION pass_over_unheard(text, integer) TO ade_worker;
