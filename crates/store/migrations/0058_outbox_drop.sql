-- why: events that everybody has read fill the disk for nothing

-- Drops whole days of the outbox, oldest first: those that ended longer than `kept` ago, all of
-- whose events have their number and were read by every consumer that reads events of their tenant.
-- Whoever comes later finds that the numbers begin later, and reads everything anew. What happened
-- stays in the audit. The lock that a drop needs holds up whoever writes events, so it is tried for
-- briefly: what does not come off now comes off with the next round.
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
                          GROUP BY o.tenant_id) AS told
              JOIN public.consumer_cursor c USING (tenant_id)
             WHERE c.tenant_seq < told.last);
        EXECUTE format('DROP TABLE public.%I', old.name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END
$$;
REVOKE EXECUTE ON FUNCTION drop_read_events(interval, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drop_read_events(interval, integer) TO ade_worker;
