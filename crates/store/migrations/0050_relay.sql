-- why: subscribers count events without a gap, and consumers remember how far they are

-- The id is given with the number. Whose deed it was is no secret among those who may see it.
ALTER TABLE outbox ADD COLUMN id uuid, ADD COLUMN actor text;

-- `seq` is taken under the lock on whatever the event tells of, so among the rows that can be
-- seen it is the order of causes; `xid` is not, since a transaction may have one before the lock.
DROP INDEX outbox_to_relay;
CREATE INDEX outbox_to_relay ON outbox (seq) WHERE tenant_seq IS NULL;

-- How many events of a tenant have their number.
CREATE TABLE event_head (
    tenant_id uuid NOT NULL,
    tenant_seq bigint NOT NULL,
    CONSTRAINT event_head_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT event_head_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT event_head_is_natural CHECK (tenant_seq >= 0)
) WITH (fillfactor = 50);

-- How far each group of consumers has come.
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

SELECT keep_to_tenant('event_head'), keep_to_tenant('consumer_cursor');
GRANT SELECT ON event_head TO ade_app, ade_worker;
GRANT SELECT, INSERT, UPDATE ON consumer_cursor TO ade_app;
GRANT SELECT ON consumer_cursor TO ade_worker;
CREATE POLICY worker_reads ON event_head FOR SELECT TO ade_worker USING (true);
CREATE POLICY worker_reads ON consumer_cursor FOR SELECT TO ade_worker USING (true);

-- Numbering is the one change that a written event sees, and this function the one way to it.
CREATE POLICY owner_numbers ON outbox TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY owner_numbers ON event_head TO CURRENT_USER USING (true) WITH CHECK (true);

-- Numbers the oldest events of the tenants in these shards, and tells which. A shard that somebody
-- else numbers at this moment is left to them. The locks come first and the statement after, so
-- that it sees all that the one before has committed.
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
    -- What follows opens every partition, needed or not.
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
    told AS (
        UPDATE public.outbox o SET tenant_seq = n.given, id = public.uuid_v7()
          FROM numbered n
         WHERE (o.tenant_id, o.at, o.seq) = (n.tenant_id, n.at, n.seq)
           AND o.at BETWEEN earliest AND latest
        RETURNING o.tenant_id, o.tenant_seq, o.id, o.kind, o.object, o.version, o.actor, o.at,
                  o.payload::text AS payload)
    SELECT t.tenant_id, t.tenant_seq, t.id, t.kind, t.object, t.version, t.actor, t.at, t.payload
      FROM told t ORDER BY t.tenant_id, t.tenant_seq;
END
$$;
REVOKE EXECUTE ON FUNCTION number_events(integer[], integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION number_events(integer[], integer, integer) TO ade_worker;

-- What waits for its number, of all tenants: how much, and since when. Nothing of what it says.
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
