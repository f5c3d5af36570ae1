-- why: telling somebody, sending deliveries again and answering with a passkey read all that was
-- told, sent or asked in the tenant, under plans made while there was little

-- Those of these messages that still wait were told, or given up.
CREATE FUNCTION message_end(items uuid[], ended_as text, told_at timestamptz) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    item uuid;
BEGIN
    FOREACH item IN ARRAY items LOOP
        -- Counted, not asked: among all that wait it would be looked for like its key.
        UPDATE public.message_item m SET state = ended_as, ended_at = told_at
         WHERE m.tenant_id = public.current_tenant() AND m.id = item
           AND num_nulls(m.ended_at) = 1;
    END LOOP;
END
$$;

-- Those of these deliveries that are over go out once more, with all their tries; of one object the
-- first is on its way and the others wait. Gives how many.
CREATE FUNCTION webhook_redeliver(endpoint uuid, deliveries uuid[], again_at timestamptz)
    RETURNS bigint
    LANGUAGE plpgsql
    -- What is open of an object is found in its order, or else any index of what is open would do.
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

-- By `IS NULL` the one that is meant would be looked for among all that are open, like its key.
ALTER POLICY used_is_not_changed ON step_up USING (num_nulls(used_at) = 1);
ALTER POLICY used_is_not_deleted ON step_up USING (num_nulls(used_at) = 1);
