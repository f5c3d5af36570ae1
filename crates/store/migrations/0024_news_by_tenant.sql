-- why: as a join, the search for tenants with news read every leaf of the last hour

-- One look per tenant at the end of its leaves.
CREATE OR REPLACE FUNCTION tenants_with_news(most integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT t.tenant_id
      FROM public.tenant t
      LEFT JOIN public.tally_cursor c ON c.tenant_id = t.tenant_id
     CROSS JOIN LATERAL (
           SELECT FROM public.audit_leaf l
            WHERE l.tenant_id = t.tenant_id
              AND l.xid >= coalesce(c.below, '0'::xid8)
              AND l.xid < pg_snapshot_xmin(pg_current_snapshot())
              AND l.at >= coalesce(c.at, '-infinity'::timestamptz)
            LIMIT 1) AS news
     ORDER BY t.tenant_id
     LIMIT least(most, 1000)
$$;
