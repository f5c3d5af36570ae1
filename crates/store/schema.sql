-- Generated: what the migrations add up to, as pg_dump 15 writes it. See
-- tests/it/schema.rs.

COMMENT ON SCHEMA public IS 'standard public schema';

CREATE FUNCTION public.apply_assert(lease uuid, token_of_lease bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    is_held boolean;
BEGIN
    SELECT bool_and(own.is_open) INTO is_held FROM (
        SELECT h.fenced_by IS NULL AND h.released_at IS NULL AND h.token = token_of_lease
               AS is_open
          FROM public.lock_hold h
         WHERE h.tenant_id = public.current_tenant() AND h.lease_id = lease
         ORDER BY h.resource FOR UPDATE) AS own;
    RETURN coalesce(is_held, false);
END
$$;

CREATE FUNCTION public.apply_begin(lease uuid, token_of_lease bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT public.apply_assert(lease, token_of_lease) THEN
        RETURN false;
    END IF;
    UPDATE public.lock_hold h SET is_begun = true
     WHERE h.tenant_id = public.current_tenant() AND h.lease_id = lease;
    RETURN true;
END
$$;

CREATE FUNCTION public.apply_block(lease uuid, by_lease uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM FROM public.lock_hold h
      WHERE h.tenant_id = public.current_tenant() AND h.lease_id = lease
      ORDER BY h.resource FOR UPDATE;
    UPDATE public.lock_hold h SET deadline = clock_timestamp() + interval '10 years'
     WHERE h.tenant_id = public.current_tenant() AND h.lease_id = lease
       AND h.fenced_by IS NULL AND h.released_at IS NULL AND h.mode <> 'counting'
       AND NOT EXISTS (SELECT FROM public.resource r
                        WHERE r.tenant_id = h.tenant_id AND r.name = h.resource
                          AND NOT r.block_on_unknown);
    UPDATE public.lock_hold h SET fenced_by = by_lease, fenced_at = clock_timestamp()
     WHERE h.tenant_id = public.current_tenant() AND h.lease_id = lease
       AND h.fenced_by IS NULL AND h.released_at IS NULL
       AND h.deadline < clock_timestamp() + interval '5 years';
END
$$;

CREATE FUNCTION public.apply_extend(lease uuid, token_of_lease bigint, OUT until timestamp with time
        zone, OUT ttl_ms bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT public.apply_assert(lease, token_of_lease) THEN
        RETURN;
    END IF;
    UPDATE public.lock_hold h SET deadline = greatest(h.deadline, clock_timestamp() + h.ttl)
     WHERE h.tenant_id = public.current_tenant() AND h.lease_id = lease;
    SELECT min(h.deadline), min((extract(epoch FROM h.ttl) * 1000)::bigint)
      INTO until, ttl_ms FROM public.lock_hold h
     WHERE h.tenant_id = public.current_tenant() AND h.lease_id = lease;
    UPDATE public.agent_session s SET lease_until = greatest(s.lease_until, until)
      FROM public.lock_hold h
     WHERE h.tenant_id = public.current_tenant() AND h.lease_id = lease
       AND s.tenant_id = h.tenant_id AND s.id = h.session_id AND s.closed_at IS NULL
       AND s.lease_until > clock_timestamp();
END
$$;

CREATE FUNCTION public.apply_register(lease uuid, session uuid, own_session boolean, agent uuid,
        queue_token bigint, resources text[], modes text[], capacities integer[], lease_owner text,
        lease_node text, born timestamp with time zone, lease_ttl interval, delay interval, OUT
        refusal text, OUT refused_on text, OUT number bigint, OUT held_by uuid[], OUT given_token
        bigint, OUT until timestamp with time zone) RETURNS record
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

CREATE FUNCTION public.apply_release(lease uuid, token_of_lease bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT public.apply_assert(lease, token_of_lease) THEN
        RETURN false;
    END IF;
    UPDATE public.lock_hold h SET is_begun = false, released_at = clock_timestamp()
     WHERE h.tenant_id = public.current_tenant() AND h.lease_id = lease;
    RETURN true;
END
$$;

CREATE FUNCTION public.begin_device_login(new_hash bytea, new_code text, new_client text,
        new_address text, new_user_agent text, valid_for interval, new_pace integer, most integer)
        RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    DELETE FROM public.device_login d WHERE d.hash IN (
        SELECT o.hash FROM public.device_login o WHERE o.expires_at <= now()
         ORDER BY o.expires_at LIMIT 100 FOR UPDATE SKIP LOCKED);
    PERFORM pg_advisory_xact_lock(hashtextextended('device_login ' || new_address, 0));
    IF most <= (SELECT count(*) FROM public.device_login d
                 WHERE d.address = new_address AND d.decided_at IS NULL AND d.expires_at > now())
    THEN
        RETURN 'crowded';
    END IF;
    INSERT INTO public.device_login
        (hash, code, client, address, user_agent, created_at, expires_at, pace)
    VALUES (new_hash, new_code, new_client, new_address, new_user_agent, now(),
            now() + valid_for, new_pace)
    ON CONFLICT DO NOTHING;
    RETURN CASE WHEN FOUND THEN 'begun' ELSE 'taken' END;
END
$$;

CREATE FUNCTION public.begin_sign_in(hash bytea, provider text, nonce text, verifier text, return_to
        text, valid_for interval) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $_$
    WITH old AS (
        DELETE FROM public.sign_in s WHERE s.hash IN (
            SELECT o.hash FROM public.sign_in o WHERE o.expires_at <= now()
             ORDER BY o.expires_at LIMIT 100 FOR UPDATE SKIP LOCKED))
    INSERT INTO public.sign_in VALUES ($1, $2, $3, $4, $5, now() + $6)
$_$;

CREATE FUNCTION public.bump_rulebook() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    tenants uuid[];
    tenant uuid;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        SELECT array_agg(DISTINCT tenant_id) INTO tenants FROM (
            (SELECT tenant_id, to_jsonb(changed) - 'status' FROM changed
             EXCEPT SELECT tenant_id, to_jsonb(former) - 'status' FROM former)
            UNION ALL
            (SELECT tenant_id, to_jsonb(former) - 'status' FROM former
             EXCEPT SELECT tenant_id, to_jsonb(changed) - 'status' FROM changed)) AS differs;
    ELSE
        SELECT array_agg(DISTINCT tenant_id) INTO tenants FROM changed;
    END IF;
    FOREACH tenant IN ARRAY coalesce(tenants, '{}') LOOP
        PERFORM pg_advisory_xact_lock(hashtextextended('gate ' || tenant, 0));
        INSERT INTO public.rulebook AS book (tenant_id, version) VALUES (tenant, 1)
        ON CONFLICT ON CONSTRAINT rulebook_pkey DO UPDATE SET version = book.version + 1;
    END LOOP;
    RETURN NULL;
END
$$;

CREATE FUNCTION public.consume_token(wanted text) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    WITH used AS (
        UPDATE public.token t SET used_at = public.moment()
         WHERE t.key_id = wanted AND t.single_use AND public.token_is_open(t)
        RETURNING t.key_id)
    SELECT EXISTS (SELECT FROM used)
$$;

CREATE FUNCTION public.current_tenant() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (NULLIF(current_setting('ade.tenant'::text, true), ''::text))::uuid;

CREATE FUNCTION public.decide_device_login(wanted text, by_user uuid, is_yes boolean, given text[],
        valid_days integer) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    WITH decided AS (
        UPDATE public.device_login d
           SET decided_at = now(), approved = is_yes, tenant_id = public.current_tenant(),
               user_id = by_user, scopes = given, days = valid_days
         WHERE d.code = wanted AND d.decided_at IS NULL AND d.expires_at > now()
        RETURNING d.code)
    SELECT EXISTS (SELECT FROM decided)
$$;

CREATE FUNCTION public.drop_read_events(kept interval, most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET lock_timeout TO '200ms'
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
                          GROUP BY o.tenant_id) AS newest
              JOIN public.consumer_cursor c USING (tenant_id)
             WHERE c.tenant_seq < newest.last);
        EXECUTE format('DROP TABLE public.%I', old.name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END
$$;

CREATE FUNCTION public.end_sign_in(wanted bytea, OUT provider text, OUT nonce text, OUT verifier
        text, OUT return_to text) RETURNS SETOF record
    LANGUAGE sql SECURITY DEFINER ROWS 1
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    WITH taken AS (DELETE FROM public.sign_in s WHERE s.hash = wanted RETURNING s.*)
    SELECT t.provider, t.nonce, t.verifier, t.return_to FROM taken t WHERE t.expires_at > now()
$$;

CREATE FUNCTION public.events_waiting(most integer, OUT waiting bigint, OUT oldest timestamp with
        time zone) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
    SELECT count(*), min(o.at)
      FROM (SELECT at FROM public.outbox WHERE tenant_seq IS NULL ORDER BY seq LIMIT most) AS o
$$;

CREATE FUNCTION public.find_device_login(wanted text, OUT client text, OUT address text, OUT
        user_agent text, OUT created_at timestamp with time zone, OUT expires_at timestamp with time
        zone, OUT approved boolean, OUT tenant_id uuid, OUT user_id uuid) RETURNS SETOF record
    LANGUAGE sql STABLE SECURITY DEFINER ROWS 1
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT d.client, d.address, d.user_agent, d.created_at, d.expires_at, d.approved, d.tenant_id,
           d.user_id
      FROM public.device_login d WHERE d.code = wanted AND d.expires_at > now()
$$;

CREATE FUNCTION public.has_several_tenants() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT EXISTS (SELECT FROM public.tenant OFFSET 1)
$$;

CREATE FUNCTION public.installation_gate() RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended('gate of the installation'::text, (0)::bigint);

CREATE FUNCTION public.keep_in_rulebook(target regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    EXECUTE format('CREATE TRIGGER rulebook_sees_insert AFTER INSERT ON %s '
                   'REFERENCING NEW TABLE AS changed '
                   'FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook()', target);
    EXECUTE format('CREATE TRIGGER rulebook_sees_update AFTER UPDATE ON %s '
                   'REFERENCING OLD TABLE AS former NEW TABLE AS changed '
                   'FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook()', target);
    EXECUTE format('CREATE TRIGGER rulebook_sees_delete AFTER DELETE ON %s '
                   'REFERENCING OLD TABLE AS changed '
                   'FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook()', target);
END
$$;

CREATE FUNCTION public.keep_session(wanted text, idle interval, pace interval) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    UPDATE public.token t SET idle_until = now() + idle
     WHERE t.key_id = wanted AND t.idle_until < now() + idle - pace AND public.token_is_open(t)
$$;

CREATE FUNCTION public.keep_to_tenant(target regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', target);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', target);
    EXECUTE format('CREATE POLICY own_tenant ON %s USING (tenant_id = public.current_tenant()) '
                   'WITH CHECK (tenant_id = public.current_tenant())', target);
END
$$;

CREATE FUNCTION public.lock_extend(leases uuid[], longest interval DEFAULT NULL::interval) RETURNS
        TABLE(lease uuid, is_open boolean, given_token bigint, until timestamp with time zone,
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

CREATE FUNCTION public.lock_fence_off(leases uuid[], by_lease uuid, only_dead boolean) RETURNS SETOF
        uuid
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

CREATE FUNCTION public.lock_fences(resources text[]) RETURNS bigint[]
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

CREATE FUNCTION public.lock_fits(wanted text, room integer, modes text[], capacities integer[])
        RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (cardinality(modes) = 0) THEN true WHEN (wanted = 'exclusive'::text) THEN false
        WHEN (EXISTS (SELECT FROM unnest(lock_fits.modes) held(held) WHERE (held.held <>
        lock_fits.wanted))) THEN false WHEN (wanted = 'shared'::text) THEN true ELSE
        (cardinality(modes) < LEAST(room, (SELECT min(c.c) AS min FROM unnest(lock_fits.capacities)
        c(c)))) END;

CREATE FUNCTION public.lock_holds_of(leases uuid[]) RETURNS TABLE(resource text, lease_id uuid)
    LANGUAGE sql STABLE
    AS $$
    SELECT h.resource, h.lease_id FROM unnest(leases) AS wanted (lease)
     CROSS JOIN LATERAL (
        SELECT own.resource, own.lease_id FROM public.lock_hold own
         WHERE own.tenant_id = public.current_tenant() AND own.lease_id = wanted.lease
        OFFSET 0) AS h
$$;

CREATE FUNCTION public.lock_make_room(target text, lease uuid, wanted text, room integer) RETURNS
        uuid[]
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

CREATE FUNCTION public.lock_register(lease uuid, session uuid, given_token bigint, resources text[],
        modes text[], capacities integer[], lease_owner text, lease_node text, born timestamp with
        time zone, lease_ttl interval, delay interval, most bigint DEFAULT NULL::bigint, OUT refusal
        text, OUT refused_on text, OUT number bigint, OUT held_by uuid[]) RETURNS record
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

CREATE FUNCTION public.lock_taken(by_agent text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN (SELECT count(*) FROM public.lock_hold h
             WHERE h.tenant_id = public.current_tenant() AND h.agent = by_agent
               AND h.fenced_by IS NULL AND h.released_at IS NULL
               AND h.deadline + h.lock_delay > clock_timestamp());
END
$$;

CREATE FUNCTION public.lock_task(wanted uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM FROM public.task t
      WHERE t.tenant_id = public.current_tenant() AND t.id = wanted
        FOR NO KEY UPDATE;
END
$$;

CREATE FUNCTION public.lock_task_of_approval(wanted uuid) RETURNS uuid
    LANGUAGE plpgsql
    AS $$
DECLARE
    found uuid;
BEGIN
    SELECT a.task_id INTO found FROM public.approval a
     WHERE a.tenant_id = public.current_tenant() AND a.id = wanted;
    IF found IS NOT NULL THEN
        PERFORM public.lock_task(found);
    END IF;
    RETURN found;
END
$$;

CREATE FUNCTION public.lock_task_of_execution(wanted uuid) RETURNS uuid
    LANGUAGE plpgsql
    AS $$
DECLARE
    found uuid;
BEGIN
    SELECT e.task_id INTO found FROM public.execution e
     WHERE e.tenant_id = public.current_tenant() AND e.id = wanted;
    IF found IS NOT NULL THEN
        PERFORM public.lock_task(found);
    END IF;
    RETURN found;
END
$$;

CREATE FUNCTION public.lock_touch(leases uuid[]) RETURNS void
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

CREATE FUNCTION public.make_partitions(ahead interval, since timestamp with time zone DEFAULT now())
        RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $$
DECLARE
    parent record;
    starts timestamptz;
    partition text;
    made integer := 0;
BEGIN
    IF ahead < interval '0' OR ahead > interval '400 days' THEN
        RAISE EXCEPTION 'partitions are made at most 400 days ahead, not %', ahead
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('make_partitions', 0));
    FOR parent IN
        SELECT * FROM (VALUES ('audit_entry', 'month', 'YYYY_MM'), ('outbox', 'day', 'YYYY_MM_DD'))
            AS listed (name, unit, suffix)
    LOOP
        starts := date_trunc(parent.unit, since);
        WHILE starts <= since + ahead LOOP
            partition := parent.name || '_' || to_char(starts, parent.suffix);
            IF to_regclass('public.' || partition) IS NULL THEN
                EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING DEFAULTS '
                               'INCLUDING CONSTRAINTS)', partition, parent.name);
                -- A partition is read through its parent, whose policies apply. On its own it shows
                -- no rows.
                EXECUTE format('ALTER TABLE public.%I ENABLE ROW LEVEL SECURITY', partition);
                EXECUTE format('ALTER TABLE public.%I FORCE ROW LEVEL SECURITY', partition);
                EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I '
                               'FOR VALUES FROM (%L) TO (%L)', parent.name, partition, starts,
                               starts + ('1 ' || parent.unit)::interval);
                made := made + 1;
            END IF;
            starts := starts + ('1 ' || parent.unit)::interval;
        END LOOP;
    END LOOP;
    RETURN made;
END
$$;

CREATE FUNCTION public.message_end(items uuid[], ended_as text, done_at timestamp with time zone)
        RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    item uuid;
BEGIN
    FOREACH item IN ARRAY items LOOP
        -- With `IS NULL`, the planner would prefer the partial index of waiting messages to the
        -- primary key.
        UPDATE public.message_item m SET state = ended_as, ended_at = done_at
         WHERE m.tenant_id = public.current_tenant() AND m.id = item
           AND num_nulls(m.ended_at) = 1;
    END LOOP;
END
$$;

CREATE FUNCTION public.moment() RETURNS timestamp with time zone
    LANGUAGE sql PARALLEL SAFE
    RETURN clock_timestamp();

CREATE FUNCTION public.note_token_use(wanted text, pace interval) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    UPDATE public.token t SET last_used_at = now()
      FROM (SELECT c.key_id FROM public.token c
             WHERE c.key_id = wanted
               AND (c.last_used_at IS NULL OR c.last_used_at < now() - pace)
               FOR NO KEY UPDATE SKIP LOCKED) AS free
     WHERE t.key_id = free.key_id
$$;

CREATE FUNCTION public.notice_second_tenant() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    others uuid[];
BEGIN
    -- Of two tenants that are created at the same time, the later one sees the other.
    PERFORM pg_advisory_xact_lock(hashtextextended('tenants', 0));
    SELECT array_agg(found.tenant_id) INTO others FROM (
        SELECT n.tenant_id FROM public.tenant n WHERE n.tenant_id <> new.tenant_id LIMIT 2) found;
    IF cardinality(others) = 1 THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('gate ' || others[1], 0));
        UPDATE public.rulebook SET version = version + 1 WHERE tenant_id = others[1];
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION public.number_events(wanted integer[], shards integer, most integer) RETURNS
        TABLE(tenant uuid, number bigint, event uuid, kind text, object text, version bigint, actor
        text, at timestamp with time zone, payload text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
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
    -- The statement below opens every partition, so it is skipped if there is nothing to number.
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
    updated AS (
        UPDATE public.outbox o SET tenant_seq = n.given, id = public.uuid_v7()
          FROM numbered n
         WHERE (o.tenant_id, o.at, o.seq) = (n.tenant_id, n.at, n.seq)
           AND o.at BETWEEN earliest AND latest
        RETURNING o.tenant_id, o.tenant_seq, o.id, o.kind, o.object, o.version, o.actor, o.at,
                  o.payload::text AS payload)
    SELECT t.tenant_id, t.tenant_seq, t.id, t.kind, t.object, t.version, t.actor, t.at, t.payload
      FROM updated t ORDER BY t.tenant_id, t.tenant_seq;
END
$$;

CREATE FUNCTION public.open_tokens(wanted text[]) RETURNS SETOF text
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT t.key_id FROM public.token t
     WHERE t.key_id = ANY (wanted) AND public.token_is_open(t)
$$;

CREATE FUNCTION public.open_transaction(tenant uuid, lock_ms integer, statement_ms integer, idle_ms
        integer, gate text, key bigint, task uuid, approval uuid, execution uuid, OUT key_is_ours
        boolean, OUT locked_task uuid, OUT moment_in_micros bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    said text;
BEGIN
    said := set_config('ade.tenant', tenant::text, true);
    said := set_config('lock_timeout', lock_ms::text, true);
    said := set_config('statement_timeout', statement_ms::text, true);
    said := set_config('idle_in_transaction_session_timeout', idle_ms::text, true);
    -- Plans are cached, because planning dominates the cost of a decision. Sequential scans are
    -- disabled, because a plan that was made for an empty table would be kept after the table has
    -- grown.
    said := set_config('plan_cache_mode', 'force_generic_plan', true);
    said := set_config('enable_seqscan', 'off', true);
    IF key IS NOT NULL THEN
        key_is_ours := pg_try_advisory_xact_lock(key);
    END IF;
    -- If another request holds the same key, this one fails immediately instead of queuing for the
    -- tenant lock and delaying others.
    IF key_is_ours IS NOT FALSE THEN
        IF gate = 'shared' THEN
            PERFORM pg_advisory_xact_lock_shared(hashtextextended('gate ' || tenant, 0));
        ELSIF gate = 'exclusive' THEN
            PERFORM pg_advisory_xact_lock(hashtextextended('gate ' || tenant, 0));
        END IF;
        IF approval IS NOT NULL THEN
            locked_task := public.lock_task_of_approval(approval);
        ELSIF execution IS NOT NULL THEN
            locked_task := public.lock_task_of_execution(execution);
        ELSIF task IS NOT NULL THEN
            PERFORM public.lock_task(task);
            locked_task := task;
        END IF;
    END IF;
    moment_in_micros := extract(epoch FROM public.moment()) * 1000000;
END
$$;

CREATE FUNCTION public.open_webhook_circuits() RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT count(*) FROM public.webhook_circuit c
      JOIN public.webhook_endpoint e ON (e.tenant_id, e.id) = (c.tenant_id, c.endpoint_id)
     WHERE c.open_until > public.moment() AND e.state = 'active' AND e.deleted_at IS NULL
$$;

CREATE FUNCTION public.overdue_after_reviews() RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
    SELECT count(*) FROM public.after_review a
     WHERE a.done_at IS NULL AND a.due_at <= (SELECT public.moment())
$$;

CREATE FUNCTION public.pass_installation_gate(OUT number bigint, OUT reason text, OUT set_by text,
        OUT set_at timestamp with time zone) RETURNS SETOF record
    LANGUAGE plpgsql ROWS 1
    AS $$
BEGIN
    RETURN QUERY SELECT f.number, f.reason, f.set_by, f.set_at
                   FROM public.installation_freeze f WHERE f.lifted_at IS NULL;
    IF FOUND THEN
        -- The process that froze the installation may still be waiting for the lock, so a permit
        -- must not queue behind it only to be refused.
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(public.installation_gate());
    RETURN QUERY SELECT f.number, f.reason, f.set_by, f.set_at
                   FROM public.installation_freeze f WHERE f.lifted_at IS NULL;
END
$$;

CREATE FUNCTION public.pass_over_unheard(reader text, most integer) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
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

CREATE FUNCTION public.poll_device_login(wanted bytea, slower integer, OUT outcome text, OUT pace
        integer, OUT tenant_id uuid, OUT user_id uuid) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    it public.device_login;
BEGIN
    SELECT d.* INTO it FROM public.device_login d
     WHERE d.hash = wanted AND d.expires_at > now() FOR UPDATE;
    IF it.hash IS NULL THEN
        outcome := 'expired';
        RETURN;
    END IF;
    pace := it.pace;
    IF it.polled_at + make_interval(secs => it.pace) > now() THEN
        outcome := 'slow_down';
        pace := it.pace + slower;
    ELSIF it.decided_at IS NULL THEN
        outcome := 'pending';
    ELSIF it.approved THEN
        outcome := 'approved';
        tenant_id := it.tenant_id;
        user_id := it.user_id;
    ELSE
        outcome := 'denied';
        DELETE FROM public.device_login d WHERE d.hash = wanted;
    END IF;
    UPDATE public.device_login d SET polled_at = now(), pace = poll_device_login.pace
     WHERE d.hash = wanted;
END
$$;

CREATE FUNCTION public.queue_score(risk integer, priority integer) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((risk * 10) + CASE WHEN (priority >= 85) THEN 1000 WHEN (priority >= 60) THEN 500 WHEN
        (priority >= 25) THEN 100 ELSE 0 END);

CREATE FUNCTION public.reached_by_role(wanted text, moment timestamp with time zone) RETURNS SETOF
        uuid
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    WITH holder AS (
        SELECT r.user_id FROM public.user_role r
          JOIN public.app_user u ON (u.tenant_id, u.id) = (r.tenant_id, r.user_id)
         WHERE r.tenant_id = public.current_tenant() AND r.role = wanted AND u.active),
    duty AS (
        SELECT h.user_id FROM holder h
          JOIN public.on_call o ON o.tenant_id = public.current_tenant()
           AND o.role = wanted AND o.user_id = h.user_id
         WHERE o.starts_at <= moment AND moment < o.ends_at)
    SELECT user_id FROM duty
     UNION
    SELECT user_id FROM holder WHERE NOT EXISTS (SELECT FROM duty)
$$;

CREATE FUNCTION public.refuse_second_setup() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION 'the setup of a tenant ends once' USING ERRCODE = 'check_violation';
END
$$;

CREATE FUNCTION public.resolve_invitation(wanted text, OUT tenant_id uuid, OUT user_id uuid, OUT
        secret_hash bytea, OUT is_live boolean) RETURNS SETOF record
    LANGUAGE sql STABLE SECURITY DEFINER ROWS 1
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT i.tenant_id, i.user_id, i.secret_hash,
           i.expires_at > now()
           AND EXISTS (SELECT FROM public.tenant n WHERE n.tenant_id = i.tenant_id AND n.active)
           AND EXISTS (SELECT FROM public.app_user u
                        WHERE u.tenant_id = i.tenant_id AND u.id = i.user_id AND u.active)
      FROM public.invitation i WHERE i.key_id = wanted
$$;

CREATE FUNCTION public.resolve_token(wanted text, pace interval DEFAULT '00:01:00'::interval, OUT
        tenant_id uuid, OUT principal_kind text, OUT principal_id uuid, OUT owner_id uuid, OUT
        secret_hash bytea, OUT scopes text[], OUT expires_at timestamp with time zone, OUT
        revoked_at timestamp with time zone, OUT single_use boolean, OUT is_session boolean, OUT
        networks text[], OUT noted_at timestamp with time zone, OUT is_live boolean, OUT issued_by
        uuid) RETURNS SETOF record
    LANGUAGE plpgsql SECURITY DEFINER ROWS 1
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    earlier text := coalesce(current_setting('ade.tenant', true), '');
    found public.token;
BEGIN
    SELECT t.* INTO found FROM public.token t WHERE t.key_id = wanted;
    IF found.key_id IS NULL THEN
        RETURN;
    END IF;
    tenant_id := found.tenant_id;
    principal_kind := CASE WHEN found.agent_id IS NULL THEN 'user' ELSE 'agent' END;
    principal_id := coalesce(found.agent_id, found.user_id);
    secret_hash := found.secret_hash;
    scopes := found.scopes;
    expires_at := found.expires_at;
    revoked_at := found.revoked_at;
    issued_by := found.issued_by;
    single_use := found.single_use;
    is_session := found.idle_until IS NOT NULL;
    networks := coalesce(found.networks, '{}');
    IF found.last_used_at >= now() - pace THEN
        noted_at := found.last_used_at;
    END IF;
    PERFORM set_config('ade.tenant', found.tenant_id::text, true);
    SELECT a.owner_id INTO owner_id FROM public.agent a
     WHERE a.tenant_id = found.tenant_id AND a.id = found.agent_id;
    is_live := public.token_is_open(found)
        AND EXISTS (SELECT FROM public.tenant n
                     WHERE n.tenant_id = found.tenant_id AND n.active)
        AND EXISTS (SELECT FROM public.app_user u
                     WHERE u.tenant_id = found.tenant_id AND u.active
                       AND u.id = coalesce(owner_id, found.user_id))
        AND NOT EXISTS (SELECT FROM public.agent a
                         WHERE a.tenant_id = found.tenant_id AND a.id = found.agent_id
                           AND a.revoked_at IS NOT NULL);
    PERFORM set_config('ade.tenant', earlier, true);
    RETURN NEXT;
END
$$;

CREATE FUNCTION public.rulebook_versions(wanted uuid[]) RETURNS TABLE(tenant uuid, version bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT b.tenant_id, b.version FROM public.rulebook b WHERE b.tenant_id = ANY (wanted)
$$;

CREATE FUNCTION public.take_device_login(wanted bytea, OUT client text, OUT scopes text[], OUT days
        integer) RETURNS SETOF record
    LANGUAGE sql SECURITY DEFINER ROWS 1
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    WITH taken AS (
        DELETE FROM public.device_login d
         WHERE d.hash = wanted AND d.approved AND d.expires_at > now()
           AND d.tenant_id = public.current_tenant()
        RETURNING d.client, d.scopes, d.days)
    SELECT t.client, t.scopes, t.days FROM taken t
$$;

CREATE FUNCTION public.tenants_of_subject(wanted_issuer text, wanted_subject text, groups text[])
        RETURNS TABLE(tenant uuid, name text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT n.tenant_id, n.name FROM public.tenant n
     WHERE n.active AND NOT EXISTS (
               SELECT FROM public.app_user u
                WHERE u.tenant_id = n.tenant_id AND u.issuer = wanted_issuer
                  AND u.subject = wanted_subject AND NOT u.active)
       AND n.tenant_id IN (
               SELECT u.tenant_id FROM public.app_user u
                WHERE u.issuer = wanted_issuer AND u.subject = wanted_subject
               UNION
               SELECT g.tenant_id FROM public.group_role g
                WHERE g.issuer = wanted_issuer AND g.group_name = ANY (groups))
     ORDER BY n.name, n.tenant_id
$$;

CREATE FUNCTION public.tenants_to_tell(reader text, after uuid, most integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
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

CREATE FUNCTION public.tenants_with_expired_answers(until timestamp with time zone, after uuid, most
        integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT t.tenant_id
      FROM public.tenant t
     WHERE (after IS NULL OR t.tenant_id > after)
       AND EXISTS (SELECT FROM public.idempotency i
                    WHERE i.tenant_id = t.tenant_id AND i.expires_at <= until)
     ORDER BY t.tenant_id
     LIMIT least(most, 1000)
$$;

CREATE FUNCTION public.tenants_with_locks(after uuid, most integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT e.tenant_id FROM public.lock_epoch e
     WHERE after IS NULL OR e.tenant_id > after
     ORDER BY e.tenant_id
     LIMIT least(most, 1000)
$$;

CREATE FUNCTION public.tenants_with_news(most integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT t.tenant_id
      FROM public.tenant t
      LEFT JOIN public.tally_cursor c ON c.tenant_id = t.tenant_id
     CROSS JOIN LATERAL (
           SELECT FROM public.audit_entry l
            WHERE l.tenant_id = t.tenant_id
              AND l.xid >= coalesce(c.below, '0'::xid8)
              AND l.xid < pg_snapshot_xmin(pg_current_snapshot())
              AND l.at >= coalesce(c.at, '-infinity'::timestamptz)
            LIMIT 1) AS news
     ORDER BY t.tenant_id
     LIMIT least(most, 1000)
$$;

CREATE FUNCTION public.tenants_with_old_deliveries(until timestamp with time zone, most integer)
        RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT t.tenant_id
      FROM public.tenant t
     WHERE EXISTS (SELECT FROM public.webhook_delivery d
                    WHERE d.tenant_id = t.tenant_id AND d.ended_at <= until)
     ORDER BY t.tenant_id
     LIMIT least(most, 1000)
$$;

CREATE FUNCTION public.tenants_with_old_tokens(tokens_until timestamp with time zone, sessions_until
        timestamp with time zone, most integer) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    SELECT n.tenant_id
      FROM public.tenant n
     WHERE EXISTS (SELECT FROM public.token t
                    WHERE t.tenant_id = n.tenant_id AND t.idle_until IS NULL
                      AND least(t.expires_at, t.revoked_at, t.used_at) <= tokens_until)
        OR EXISTS (SELECT FROM public.token t
                    WHERE t.tenant_id = n.tenant_id AND t.idle_until IS NOT NULL
                      AND least(t.expires_at, t.revoked_at) <= sessions_until)
     ORDER BY n.tenant_id
     LIMIT least(most, 1000)
$$;

CREATE TABLE public.token (
    tenant_id uuid NOT NULL,
    key_id text NOT NULL,
    user_id uuid,
    agent_id uuid,
    secret_hash bytea NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamp with time zone DEFAULT public.moment() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    label text DEFAULT ''::text NOT NULL,
    single_use boolean DEFAULT false NOT NULL,
    used_at timestamp with time zone,
    idle_until timestamp with time zone,
    signed_in_at timestamp with time zone,
    address text,
    user_agent text,
    networks text[],
    last_used_at timestamp with time zone,
    issued_by uuid,
    outdated_tenants uuid[],
    CONSTRAINT token_keeps_only_a_hash CHECK ((octet_length(secret_hash) = 32)),
    CONSTRAINT token_label_is_short CHECK ((octet_length(label) <= 128)),
    CONSTRAINT token_lives_90_days_at_most CHECK (((expires_at > created_at) AND (expires_at <=
        (created_at + '2160:00:00'::interval)))),
    CONSTRAINT token_names_one_principal CHECK ((num_nonnulls(user_id, agent_id) = 1)),
    CONSTRAINT token_networks_are_few CHECK ((cardinality(networks) <= 16)),
    CONSTRAINT token_of_a_session_has_no_networks CHECK (((idle_until IS NULL) OR (networks IS
        NULL))),
    CONSTRAINT token_of_a_session_is_a_persons CHECK (((idle_until IS NULL) OR ((user_id IS NOT
        NULL) AND (NOT single_use)))),
    CONSTRAINT token_of_a_session_is_whole CHECK ((num_nonnulls(idle_until, signed_in_at) = ANY
        (ARRAY[0, 2]))),
    CONSTRAINT token_of_a_session_lives_12_hours_at_most CHECK (((idle_until IS NULL) OR (expires_at
        <= (signed_in_at + '12:00:00'::interval)))),
    CONSTRAINT token_use_is_marked_if_single CHECK (((used_at IS NULL) OR single_use))
);

ALTER TABLE ONLY public.token FORCE ROW LEVEL SECURITY;

CREATE FUNCTION public.token_is_open(public.token) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN ((($1).revoked_at IS NULL) AND (($1).expires_at > now()) AND (($1).used_at IS NULL) AND
        ((($1).idle_until IS NULL) OR (($1).idle_until > now())));

CREATE FUNCTION public.token_two_open_at_most() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF NEW.idle_until IS NOT NULL THEN
        RETURN NEW;
    END IF;
    PERFORM FROM public.app_user u
      WHERE u.tenant_id = NEW.tenant_id AND u.id = NEW.user_id FOR NO KEY UPDATE;
    PERFORM FROM public.agent a
      WHERE a.tenant_id = NEW.tenant_id AND a.id = NEW.agent_id FOR NO KEY UPDATE;
    IF 2 <= (SELECT count(*) FROM public.token t
              WHERE t.tenant_id = NEW.tenant_id AND public.token_is_open(t)
                AND t.idle_until IS NULL
                AND (t.user_id = NEW.user_id OR t.agent_id = NEW.agent_id))
    THEN
        RAISE EXCEPTION '% has two tokens already', coalesce(NEW.user_id, NEW.agent_id)
            USING ERRCODE = 'check_violation', CONSTRAINT = 'token_two_open_at_most',
                  TABLE = 'token';
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION public.uuid_v7() RETURNS uuid
    LANGUAGE sql PARALLEL SAFE
    RETURN (encode(set_bit(set_bit(OVERLAY(uuid_send(gen_random_uuid()) PLACING
        SUBSTRING(int8send(((EXTRACT(epoch FROM clock_timestamp()) * (1000)::numeric))::bigint) FROM
        3) FROM 1 FOR 6), (52)::bigint, 1), (53)::bigint, 1), 'hex'::text))::uuid;

CREATE FUNCTION public.vote_is_not_of_the_involved() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    IF NEW.carried_from IS NULL AND EXISTS (
        WITH RECURSIVE human (id) AS (
            SELECT NEW.voter_id
            UNION
            SELECT account.id
              FROM human
             CROSS JOIN LATERAL (
                SELECT a.alias_id FROM public.user_alias a
                 WHERE a.tenant_id = NEW.tenant_id AND a.user_id = human.id
                UNION ALL
                SELECT a.user_id FROM public.user_alias a
                 WHERE a.tenant_id = NEW.tenant_id AND a.alias_id = human.id) AS account (id))
        SELECT FROM public.task t
          JOIN human ON human.id IN (t.author_id, t.submitter_id)
                     OR human.id = ANY (t.editors) OR human.id = ANY (t.token_issuers)
         WHERE t.tenant_id = NEW.tenant_id AND t.id = NEW.task_id)
    THEN
        RAISE EXCEPTION '% had a part in task % and cannot answer it', NEW.voter_id, NEW.task_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'vote_is_not_of_the_involved',
                  TABLE = 'vote';
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION public.webhook_redeliver(endpoint uuid, deliveries uuid[], again_at timestamp with
        time zone) RETURNS bigint
    LANGUAGE plpgsql
    SET enable_sort TO 'off'
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

CREATE TABLE public.after_review (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    id uuid DEFAULT public.uuid_v7() NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    due_at timestamp with time zone NOT NULL,
    done_by uuid,
    done_at timestamp with time zone,
    finding text,
    CONSTRAINT after_review_is_done_by_a_person CHECK ((num_nonnulls(done_by, done_at, finding) =
        ANY (ARRAY[0, 3])))
);

ALTER TABLE ONLY public.after_review FORCE ROW LEVEL SECURITY;

CREATE TABLE public.agent (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    owner_id uuid NOT NULL,
    status text DEFAULT 'offline'::text NOT NULL,
    capabilities jsonb DEFAULT '[]'::jsonb NOT NULL,
    registered_at timestamp with time zone DEFAULT now() NOT NULL,
    revoked_at timestamp with time zone,
    max_tasks integer DEFAULT 4 NOT NULL,
    standing_order text,
    config_version integer DEFAULT 0 NOT NULL,
    CONSTRAINT agent_config_version_is_natural CHECK ((config_version >= 0)),
    CONSTRAINT agent_max_tasks_is_in_range CHECK (((max_tasks >= 1) AND (max_tasks <= 10000))),
    CONSTRAINT agent_order_is_known CHECK ((standing_order = ANY (ARRAY['drain'::text,
        'pause'::text]))),
    CONSTRAINT agent_status_is_known CHECK ((status = ANY (ARRAY['active'::text, 'late'::text,
        'offline'::text, 'draining'::text, 'paused'::text])))
);

ALTER TABLE ONLY public.agent FORCE ROW LEVEL SECURITY;

CREATE TABLE public.agent_config_version (
    tenant_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    version integer NOT NULL,
    config jsonb NOT NULL,
    set_by uuid NOT NULL,
    reason text,
    set_at timestamp with time zone NOT NULL,
    CONSTRAINT agent_config_version_counts_from_one CHECK ((version >= 1)),
    CONSTRAINT agent_config_version_is_an_object CHECK ((jsonb_typeof(config) = 'object'::text))
);

ALTER TABLE ONLY public.agent_config_version FORCE ROW LEVEL SECURITY;

CREATE TABLE public.agent_session (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    agent_id uuid,
    node text NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    seen_at timestamp with time zone,
    load integer,
    CONSTRAINT agent_session_load_is_in_range CHECK (((load >= 0) AND (load <= 10000))),
    CONSTRAINT agent_session_node_is_short CHECK (((octet_length(node) >= 1) AND (octet_length(node)
        <= 128)))
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.agent_session FORCE ROW LEVEL SECURITY;

CREATE TABLE public.app_user (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    name text NOT NULL,
    email text,
    manager_id uuid,
    active boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    invited_by uuid,
    unconfirmed_since timestamp with time zone,
    passkeys_reset_at timestamp with time zone,
    email_verified_at timestamp with time zone,
    CONSTRAINT app_user_is_not_own_manager CHECK ((manager_id <> id))
);

ALTER TABLE ONLY public.app_user FORCE ROW LEVEL SECURITY;

CREATE TABLE public.approval (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    revision integer NOT NULL,
    reviewer_id uuid NOT NULL,
    seq bigint NOT NULL,
    id uuid DEFAULT public.uuid_v7() NOT NULL,
    status text NOT NULL,
    places json NOT NULL,
    requested_at timestamp with time zone NOT NULL,
    due_at timestamp with time zone NOT NULL,
    score integer NOT NULL,
    CONSTRAINT approval_score_is_natural CHECK ((score >= 0)),
    CONSTRAINT approval_status_is_known CHECK ((status = ANY (ARRAY['PENDING'::text,
        'APPROVED'::text, 'REJECTED'::text, 'DELEGATED'::text, 'SUPERSEDED'::text,
        'EXPIRED'::text])))
)
WITH (fillfactor='80');

ALTER TABLE ONLY public.approval FORCE ROW LEVEL SECURITY;

ALTER TABLE public.approval ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.approval_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.audit_entry (
    tenant_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    id uuid DEFAULT public.uuid_v7() NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    format smallint NOT NULL,
    kind text NOT NULL,
    user_id uuid,
    agent_id uuid,
    on_behalf_of uuid,
    worker text,
    object text NOT NULL,
    action text NOT NULL,
    from_state text,
    to_state text,
    revision integer,
    digest bytea,
    origin_salt uuid,
    address inet,
    user_agent text,
    service text NOT NULL,
    reason text,
    ticket text,
    canonical bytea NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_entry_agent_acts_for_a_person CHECK (((agent_id IS NULL) = (on_behalf_of IS
        NULL))),
    CONSTRAINT audit_entry_hash_is_sha256 CHECK ((octet_length(hash) = 32)),
    CONSTRAINT audit_entry_is_bounded CHECK (((octet_length(canonical) >= 1) AND
        (octet_length(canonical) <= 65536))),
    CONSTRAINT audit_entry_kind_is_known CHECK ((kind = ANY (ARRAY['change'::text, 'refusal'::text,
        'disclosure'::text]))),
    CONSTRAINT audit_entry_names_one_actor CHECK ((num_nonnulls(user_id, agent_id, worker) = 1)),
    CONSTRAINT audit_entry_origin_is_salted CHECK (((origin_salt IS NOT NULL) OR ((address IS NULL)
        AND (user_agent IS NULL))))
)
PARTITION BY RANGE (at);

ALTER TABLE ONLY public.audit_entry FORCE ROW LEVEL SECURITY;

CREATE TABLE public.comment (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    seq bigint NOT NULL,
    actor json NOT NULL,
    body text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT comment_body_is_bounded CHECK (((octet_length(body) >= 1) AND (octet_length(body) <=
        4096)))
);

ALTER TABLE ONLY public.comment FORCE ROW LEVEL SECURITY;

ALTER TABLE public.comment ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.comment_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.consumer_cursor (
    tenant_id uuid NOT NULL,
    consumer text NOT NULL,
    tenant_seq bigint NOT NULL,
    moved_at timestamp with time zone NOT NULL,
    CONSTRAINT consumer_cursor_is_natural CHECK ((tenant_seq >= 0)),
    CONSTRAINT consumer_cursor_name_is_short CHECK (((octet_length(consumer) >= 1) AND
        (octet_length(consumer) <= 64)))
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.consumer_cursor FORCE ROW LEVEL SECURITY;

CREATE TABLE public.consumer_trouble (
    tenant_id uuid NOT NULL,
    consumer text NOT NULL,
    tenant_seq bigint NOT NULL,
    singly_until bigint NOT NULL,
    tries integer NOT NULL,
    problem text NOT NULL,
    since timestamp with time zone NOT NULL,
    next_at timestamp with time zone NOT NULL,
    CONSTRAINT consumer_trouble_problem_is_bounded CHECK ((octet_length(problem) <= 2048)),
    CONSTRAINT consumer_trouble_tries_are_natural CHECK ((tries >= 0))
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.consumer_trouble FORCE ROW LEVEL SECURITY;

CREATE TABLE public.daily_count (
    tenant_id uuid NOT NULL,
    day date NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    count bigint NOT NULL,
    CONSTRAINT daily_count_counts_something CHECK ((count >= 1)),
    CONSTRAINT daily_count_name_is_short CHECK (((octet_length(name) >= 1) AND (octet_length(name)
        <= 128)))
)
WITH (fillfactor='80');

ALTER TABLE ONLY public.daily_count FORCE ROW LEVEL SECURITY;

CREATE TABLE public.dead_event (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    consumer text NOT NULL,
    tenant_seq bigint NOT NULL,
    event_id uuid NOT NULL,
    kind text NOT NULL,
    object text NOT NULL,
    version bigint,
    actor text,
    at timestamp with time zone NOT NULL,
    payload text NOT NULL,
    state text NOT NULL,
    tries integer NOT NULL,
    problem text NOT NULL,
    died_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    CONSTRAINT dead_event_problem_is_bounded CHECK ((octet_length(problem) <= 2048)),
    CONSTRAINT dead_event_state_is_known CHECK ((state = ANY (ARRAY['dead'::text, 'redriving'::text,
        'taken'::text]))),
    CONSTRAINT dead_event_was_tried CHECK ((tries >= 1))
)
WITH (fillfactor='80');

ALTER TABLE ONLY public.dead_event FORCE ROW LEVEL SECURITY;

CREATE TABLE public.delegation (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    owner_id uuid NOT NULL,
    delegate_to uuid NOT NULL,
    kind text NOT NULL,
    conditions json NOT NULL,
    cascades boolean NOT NULL,
    starts_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    active boolean DEFAULT true NOT NULL,
    CONSTRAINT delegation_ends_after_it_starts CHECK ((expires_at > starts_at)),
    CONSTRAINT delegation_is_to_another CHECK ((delegate_to <> owner_id)),
    CONSTRAINT delegation_kind_is_known CHECK ((kind = ANY (ARRAY['transfer'::text,
        'follow'::text])))
);

ALTER TABLE ONLY public.delegation FORCE ROW LEVEL SECURITY;

CREATE TABLE public.device_login (
    hash bytea NOT NULL,
    code text NOT NULL,
    client text NOT NULL,
    address text NOT NULL,
    user_agent text,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    polled_at timestamp with time zone,
    pace integer NOT NULL,
    decided_at timestamp with time zone,
    approved boolean,
    tenant_id uuid,
    user_id uuid,
    scopes text[],
    days integer,
    CONSTRAINT device_login_client_is_short CHECK ((octet_length(client) <= 128)),
    CONSTRAINT device_login_hash_is_sha256 CHECK ((octet_length(hash) = 32)),
    CONSTRAINT device_login_is_answered_by_a_person CHECK ((num_nonnulls(decided_at, approved,
        tenant_id, user_id) = ANY (ARRAY[0, 4]))),
    CONSTRAINT device_login_token_lives_30_days_at_most CHECK (((days >= 1) AND (days <= 30))),
    CONSTRAINT device_login_yes_says_to_what CHECK ((num_nonnulls(scopes, days) =
CASE
    WHEN approved THEN 2
    ELSE 0
END))
);

ALTER TABLE ONLY public.device_login FORCE ROW LEVEL SECURITY;

CREATE TABLE public.event_head (
    tenant_id uuid NOT NULL,
    tenant_seq bigint NOT NULL,
    CONSTRAINT event_head_is_natural CHECK ((tenant_seq >= 0))
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.event_head FORCE ROW LEVEL SECURITY;

CREATE TABLE public.event_rate (
    tenant_id uuid NOT NULL,
    hour timestamp with time zone NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    count bigint NOT NULL,
    CONSTRAINT event_rate_counts_something CHECK ((count >= 1))
)
WITH (fillfactor='80');

ALTER TABLE ONLY public.event_rate FORCE ROW LEVEL SECURITY;

CREATE TABLE public.execution (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    id uuid DEFAULT public.uuid_v7() NOT NULL,
    revision integer NOT NULL,
    holder json NOT NULL,
    lease_id uuid NOT NULL,
    token bigint NOT NULL,
    started_at timestamp with time zone NOT NULL,
    begun_at timestamp with time zone,
    abort_requested boolean DEFAULT false NOT NULL,
    ended_at timestamp with time zone,
    late_report text,
    attempt integer DEFAULT 1 NOT NULL,
    result text,
    left_behind text,
    error text,
    output text,
    output_key text,
    details json,
    log_lines bigint DEFAULT 0 NOT NULL,
    log_bytes bigint DEFAULT 0 NOT NULL,
    CONSTRAINT execution_counts_are_natural CHECK (((attempt >= 1) AND (log_lines >= 0) AND
        (log_bytes >= 0))),
    CONSTRAINT execution_error_is_short CHECK ((octet_length(error) <= 4096)),
    CONSTRAINT execution_late_report_is_known CHECK ((late_report = ANY (ARRAY['finished'::text,
        'nothing'::text, 'rolled_back'::text, 'changed'::text]))),
    CONSTRAINT execution_left_is_known CHECK ((left_behind = ANY (ARRAY['nothing'::text,
        'rolled_back'::text, 'changed'::text]))),
    CONSTRAINT execution_output_is_short CHECK ((octet_length(output) <= 65536)),
    CONSTRAINT execution_token_is_natural CHECK ((token >= 0))
)
WITH (fillfactor='80');

ALTER TABLE ONLY public.execution FORCE ROW LEVEL SECURITY;

CREATE TABLE public.execution_line (
    tenant_id uuid NOT NULL,
    execution_id uuid NOT NULL,
    number bigint NOT NULL,
    stream text NOT NULL,
    line text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT execution_line_is_short CHECK ((octet_length(line) <= 8192)),
    CONSTRAINT execution_line_number_is_natural CHECK ((number >= 0)),
    CONSTRAINT execution_line_stream_is_known CHECK ((stream = ANY (ARRAY['stdout'::text,
        'stderr'::text, 'note'::text])))
);

ALTER TABLE ONLY public.execution_line FORCE ROW LEVEL SECURITY;

CREATE TABLE public.export_batch (
    tenant_id uuid NOT NULL,
    consumer text NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    sink text NOT NULL,
    sha256 bytea NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT export_batch_hash_is_sha256 CHECK ((octet_length(sha256) = 32)),
    CONSTRAINT export_batch_is_in_order CHECK (((first_seq >= 1) AND (first_seq <= last_seq))),
    CONSTRAINT export_batch_sink_is_short CHECK (((octet_length(sink) >= 1) AND (octet_length(sink)
        <= 512)))
);

ALTER TABLE ONLY public.export_batch FORCE ROW LEVEL SECURITY;

CREATE TABLE public.failure_history (
    tenant_id uuid NOT NULL,
    task_type text NOT NULL COLLATE pg_catalog."C",
    resource text NOT NULL COLLATE pg_catalog."C",
    failed bigint NOT NULL,
    total bigint NOT NULL,
    CONSTRAINT failure_history_is_a_part CHECK ((((failed >= 0) AND (failed <= total)) AND (total >=
        1))),
    CONSTRAINT failure_history_names_both_or_none CHECK (((task_type = ''::text) = (resource =
        ''::text)))
)
WITH (fillfactor='80');

ALTER TABLE ONLY public.failure_history FORCE ROW LEVEL SECURITY;

CREATE TABLE public.feature_flag (
    tenant_id uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    enabled boolean NOT NULL,
    set_by uuid NOT NULL,
    set_at timestamp with time zone NOT NULL,
    CONSTRAINT feature_flag_is_known CHECK ((name = ANY (ARRAY['auto_approve_low_risk'::text,
        'batch_approvals'::text, 'deadlock_detection'::text])))
);

ALTER TABLE ONLY public.feature_flag FORCE ROW LEVEL SECURITY;

CREATE TABLE public."freeze" (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    scope text NOT NULL,
    target text,
    reason text NOT NULL,
    set_by uuid NOT NULL,
    set_at timestamp with time zone NOT NULL,
    ends_at timestamp with time zone,
    lifted_by uuid,
    lifted_at timestamp with time zone,
    CONSTRAINT freeze_is_lifted_by_a_person CHECK (((lifted_at IS NULL) = (lifted_by IS NULL))),
    CONSTRAINT freeze_reason_is_given CHECK (((octet_length(reason) >= 1) AND (octet_length(reason)
        <= 4096))),
    CONSTRAINT freeze_scope_has_its_target CHECK (((scope = 'tenant'::text) = (target IS NULL))),
    CONSTRAINT freeze_scope_is_known CHECK ((scope = ANY (ARRAY['tenant'::text, 'environment'::text,
        'resources'::text])))
);

ALTER TABLE ONLY public."freeze" FORCE ROW LEVEL SECURITY;

CREATE TABLE public.group_role (
    tenant_id uuid NOT NULL,
    issuer text NOT NULL,
    group_name text NOT NULL,
    role text NOT NULL,
    CONSTRAINT group_role_group_is_short CHECK (((octet_length(group_name) >= 1) AND
        (octet_length(group_name) <= 256))),
    CONSTRAINT group_role_issuer_is_short CHECK (((octet_length(issuer) >= 1) AND
        (octet_length(issuer) <= 256))),
    CONSTRAINT group_role_name_is_short CHECK (((octet_length(role) >= 1) AND (octet_length(role) <=
        128)))
);

ALTER TABLE ONLY public.group_role FORCE ROW LEVEL SECURITY;

CREATE TABLE public.idempotency (
    tenant_id uuid NOT NULL,
    principal text NOT NULL,
    route text NOT NULL,
    key text NOT NULL,
    body_hash bytea NOT NULL,
    status smallint NOT NULL,
    answer text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT idempotency_body_hash_is_sha256 CHECK ((octet_length(body_hash) = 32)),
    CONSTRAINT idempotency_key_is_short CHECK (((octet_length(key) >= 1) AND (octet_length(key) <=
        256)))
);

ALTER TABLE ONLY public.idempotency FORCE ROW LEVEL SECURITY;

CREATE TABLE public.inbound_minute (
    tenant_id uuid NOT NULL,
    source_id uuid NOT NULL,
    minute timestamp with time zone NOT NULL,
    count integer NOT NULL,
    CONSTRAINT inbound_minute_counts_something CHECK ((count >= 1))
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.inbound_minute FORCE ROW LEVEL SECURITY;

CREATE TABLE public.inbound_source (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    label text NOT NULL,
    agent_id uuid NOT NULL,
    template json NOT NULL,
    salt bytea NOT NULL,
    old_salt bytea,
    old_until timestamp with time zone,
    active boolean NOT NULL,
    version bigint NOT NULL,
    created_by uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT inbound_source_counts_from_one CHECK ((version >= 1)),
    CONSTRAINT inbound_source_label_is_short CHECK ((octet_length(label) <= 128)),
    CONSTRAINT inbound_source_old_salt_ends CHECK (((old_salt IS NULL) = (old_until IS NULL))),
    CONSTRAINT inbound_source_salts_are_long CHECK (((octet_length(salt) = 32) AND
        COALESCE((octet_length(old_salt) = 32), true)))
);

ALTER TABLE ONLY public.inbound_source FORCE ROW LEVEL SECURITY;

CREATE TABLE public.installation_freeze (
    number bigint NOT NULL,
    reason text NOT NULL,
    set_by text NOT NULL,
    set_at timestamp with time zone NOT NULL,
    lifted_by text,
    lifted_at timestamp with time zone,
    lifted_because text,
    CONSTRAINT installation_freeze_is_lifted_by_a_person CHECK (((num_nonnulls(lifted_by, lifted_at,
        lifted_because) = ANY (ARRAY[0, 3])) AND ((octet_length(lifted_by) >= 1) AND
        (octet_length(lifted_by) <= 128)) AND ((octet_length(lifted_because) >= 1) AND
        (octet_length(lifted_because) <= 1024)))),
    CONSTRAINT installation_freeze_is_set_by_a_person CHECK (((octet_length(set_by) >= 1) AND
        (octet_length(set_by) <= 128))),
    CONSTRAINT installation_freeze_reason_is_short CHECK (((octet_length(reason) >= 1) AND
        (octet_length(reason) <= 1024)))
);

ALTER TABLE ONLY public.installation_freeze FORCE ROW LEVEL SECURITY;

ALTER TABLE public.installation_freeze ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.installation_freeze_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.invitation (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    key_id text NOT NULL,
    secret_hash bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    invited_by uuid,
    is_shown boolean DEFAULT true NOT NULL,
    CONSTRAINT invitation_expires_after_15_minutes_at_most CHECK ((expires_at <= (created_at +
        '00:15:00'::interval))),
    CONSTRAINT invitation_hash_is_sha256 CHECK ((octet_length(secret_hash) = 32))
);

ALTER TABLE ONLY public.invitation FORCE ROW LEVEL SECURITY;

CREATE TABLE public.live_ticket (
    tenant_id uuid NOT NULL,
    hash bytea NOT NULL,
    key_id text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT live_ticket_hash_is_sha256 CHECK ((octet_length(hash) = 32))
);

ALTER TABLE ONLY public.live_ticket FORCE ROW LEVEL SECURITY;

CREATE TABLE public.lock_deadlock (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    found_at timestamp with time zone NOT NULL,
    victim text NOT NULL,
    cycle json NOT NULL,
    CONSTRAINT lock_deadlock_victim_is_short CHECK (((octet_length(victim) >= 1) AND
        (octet_length(victim) <= 128)))
);

ALTER TABLE ONLY public.lock_deadlock FORCE ROW LEVEL SECURITY;

CREATE TABLE public.lock_epoch (
    tenant_id uuid NOT NULL,
    epoch bigint NOT NULL,
    reason text NOT NULL,
    begun_at timestamp with time zone NOT NULL,
    replid text,
    used_at timestamp with time zone,
    arrivals bigint DEFAULT 0 NOT NULL,
    CONSTRAINT lock_epoch_arrivals_are_natural CHECK ((arrivals >= 0)),
    CONSTRAINT lock_epoch_is_in_range CHECK (((epoch >= 1) AND (epoch <= 1048575))),
    CONSTRAINT lock_epoch_reason_is_short CHECK (((octet_length(reason) >= 1) AND
        (octet_length(reason) <= 128))),
    CONSTRAINT lock_epoch_replid_is_short CHECK (((octet_length(replid) >= 1) AND
        (octet_length(replid) <= 64)))
);

ALTER TABLE ONLY public.lock_epoch FORCE ROW LEVEL SECURITY;

CREATE TABLE public.lock_fence (
    tenant_id uuid NOT NULL,
    resource text NOT NULL COLLATE pg_catalog."C",
    max_token bigint DEFAULT 0 NOT NULL,
    CONSTRAINT lock_fence_token_is_natural CHECK ((max_token >= 0))
)
WITH (fillfactor='70');

ALTER TABLE ONLY public.lock_fence FORCE ROW LEVEL SECURITY;

CREATE TABLE public.lock_hold (
    tenant_id uuid NOT NULL,
    resource text NOT NULL COLLATE pg_catalog."C",
    lease_id uuid NOT NULL,
    session_id uuid NOT NULL,
    mode text NOT NULL,
    capacity integer,
    token bigint NOT NULL,
    owner text NOT NULL,
    node text NOT NULL,
    born_at timestamp with time zone NOT NULL,
    ttl interval NOT NULL,
    lock_delay interval NOT NULL,
    registered_at timestamp with time zone NOT NULL,
    deadline timestamp with time zone NOT NULL,
    fenced_by uuid,
    fenced_at timestamp with time zone,
    released_at timestamp with time zone,
    purpose text,
    is_begun boolean DEFAULT false NOT NULL,
    agent text GENERATED ALWAYS AS (
CASE
    WHEN starts_with(owner, 'ags_'::text) THEN split_part(node, '@'::text, 1)
    ELSE NULL::text
END) STORED,
    CONSTRAINT lock_hold_counting_has_a_capacity CHECK ((((mode = 'counting'::text) = (capacity IS
        NOT NULL)) AND ((capacity >= 1) AND (capacity <= 10000)))),
    CONSTRAINT lock_hold_delay_is_natural CHECK ((lock_delay >= '00:00:00'::interval)),
    CONSTRAINT lock_hold_ends_once CHECK (((fenced_by IS NULL) OR (released_at IS NULL))),
    CONSTRAINT lock_hold_fence_has_a_time CHECK (((fenced_by IS NULL) = (fenced_at IS NULL))),
    CONSTRAINT lock_hold_is_fenced_by_another CHECK ((fenced_by <> lease_id)),
    CONSTRAINT lock_hold_mode_is_known CHECK ((mode = ANY (ARRAY['exclusive'::text, 'shared'::text,
        'counting'::text]))),
    CONSTRAINT lock_hold_purpose_is_short CHECK (((octet_length(purpose) >= 1) AND
        (octet_length(purpose) <= 4096))),
    CONSTRAINT lock_hold_token_has_an_epoch CHECK (((token >= '8589934592'::bigint) AND (token <=
        '9007199254740991'::bigint)))
)
WITH (fillfactor='70');

ALTER TABLE ONLY public.lock_hold FORCE ROW LEVEL SECURITY;

CREATE TABLE public.lock_rate (
    tenant_id uuid NOT NULL,
    caller text NOT NULL,
    used_up timestamp with time zone NOT NULL,
    CONSTRAINT lock_rate_caller_is_short CHECK (((octet_length(caller) >= 1) AND
        (octet_length(caller) <= 128)))
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.lock_rate FORCE ROW LEVEL SECURITY;

CREATE TABLE public.lock_wait (
    tenant_id uuid NOT NULL,
    lease_id uuid NOT NULL,
    state text NOT NULL,
    owner text NOT NULL,
    node text NOT NULL,
    born_at timestamp with time zone NOT NULL,
    ttl interval NOT NULL,
    lock_delay interval NOT NULL,
    patience interval NOT NULL,
    boost integer NOT NULL,
    place bigint NOT NULL,
    arrival bigint NOT NULL,
    deadline timestamp with time zone NOT NULL,
    resources text[] NOT NULL COLLATE pg_catalog."C",
    modes text[] NOT NULL,
    capacities integer[] NOT NULL,
    CONSTRAINT lock_wait_is_of_one_length CHECK ((((cardinality(resources) >= 1) AND
        (cardinality(resources) <= 66)) AND (cardinality(modes) = cardinality(resources)) AND
        (cardinality(capacities) = cardinality(resources)))),
    CONSTRAINT lock_wait_state_is_known CHECK ((state = ANY (ARRAY['waiting'::text, 'victim'::text,
        'released'::text, 'timed_out'::text])))
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.lock_wait FORCE ROW LEVEL SECURITY;

CREATE TABLE public.message_channel (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    channel text NOT NULL,
    sent_at timestamp with time zone,
    tries integer NOT NULL,
    problem text,
    sender uuid,
    sending_until timestamp with time zone,
    CONSTRAINT message_channel_is_sent_by_a_worker CHECK (((sender IS NULL) = (sending_until IS
        NULL))),
    CONSTRAINT message_channel_tries_are_natural CHECK ((tries >= 0))
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.message_channel FORCE ROW LEVEL SECURITY;

CREATE TABLE public.message_item (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    channel text NOT NULL,
    seq bigint,
    kind text NOT NULL,
    task_id uuid,
    at timestamp with time zone NOT NULL,
    state text NOT NULL,
    ended_at timestamp with time zone,
    detail text,
    CONSTRAINT message_item_channel_is_known CHECK ((channel = ANY (ARRAY['mail'::text,
        'slack'::text]))),
    CONSTRAINT message_item_ends_once CHECK (((state = 'waiting'::text) = (ended_at IS NULL))),
    CONSTRAINT message_item_state_is_known CHECK ((state = ANY (ARRAY['waiting'::text, 'sent'::text,
        'dead'::text])))
)
WITH (fillfactor='80');

ALTER TABLE ONLY public.message_item FORCE ROW LEVEL SECURITY;

CREATE TABLE public.notification (
    tenant_id uuid NOT NULL,
    id uuid DEFAULT public.uuid_v7() NOT NULL,
    user_id uuid NOT NULL,
    task_id uuid,
    kind text NOT NULL,
    at timestamp with time zone NOT NULL,
    detail text,
    CONSTRAINT notification_kind_is_short CHECK (((octet_length(kind) >= 1) AND (octet_length(kind)
        <= 64)))
);

ALTER TABLE ONLY public.notification FORCE ROW LEVEL SECURITY;

CREATE TABLE public.notification_preference (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    mail text[] NOT NULL,
    slack text[] NOT NULL,
    slack_member text,
    quiet_zone text,
    quiet_from text,
    quiet_to text,
    digest_s integer NOT NULL,
    version bigint NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    CONSTRAINT notification_preference_counts_from_one CHECK ((version >= 1)),
    CONSTRAINT notification_preference_digest_is_natural CHECK (((digest_s >= 0) AND (digest_s <=
        86400))),
    CONSTRAINT notification_preference_is_bounded CHECK (((cardinality(mail) <= 64) AND
        (cardinality(slack) <= 64))),
    CONSTRAINT notification_preference_quiet_is_whole CHECK ((num_nonnulls(quiet_zone, quiet_from,
        quiet_to) = ANY (ARRAY[0, 3])))
);

ALTER TABLE ONLY public.notification_preference FORCE ROW LEVEL SECURITY;

CREATE TABLE public.on_call (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    role text NOT NULL,
    user_id uuid NOT NULL,
    starts_at timestamp with time zone NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    set_by uuid NOT NULL,
    set_at timestamp with time zone NOT NULL,
    CONSTRAINT on_call_ends_after_it_starts CHECK ((starts_at < ends_at)),
    CONSTRAINT on_call_role_is_short CHECK (((octet_length(role) >= 1) AND (octet_length(role) <=
        128)))
);

ALTER TABLE ONLY public.on_call FORCE ROW LEVEL SECURITY;

CREATE TABLE public.outbox (
    tenant_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    seq bigint NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    kind text NOT NULL,
    object text NOT NULL,
    version bigint,
    payload json NOT NULL,
    tenant_seq bigint,
    id uuid,
    actor text
)
PARTITION BY RANGE (at);

ALTER TABLE ONLY public.outbox FORCE ROW LEVEL SECURITY;

ALTER TABLE public.outbox ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.override (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    id uuid DEFAULT public.uuid_v7() NOT NULL,
    revision integer NOT NULL,
    digest bytea NOT NULL,
    asked_by uuid NOT NULL,
    ticket text NOT NULL,
    reason text NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    confirm_before timestamp with time zone NOT NULL,
    confirmed_by uuid,
    valid_until timestamp with time zone,
    dropped_at timestamp with time zone,
    CONSTRAINT override_confirmed_ends CHECK (((confirmed_by IS NULL) = (valid_until IS NULL))),
    CONSTRAINT override_digest_is_sha256 CHECK ((octet_length(digest) = 32)),
    CONSTRAINT override_has_two_admins CHECK ((confirmed_by <> asked_by)),
    CONSTRAINT override_says_why CHECK ((((octet_length(reason) >= 1) AND (octet_length(reason) <=
        4096)) AND (btrim(ticket) <> ''::text)))
);

ALTER TABLE ONLY public.override FORCE ROW LEVEL SECURITY;

CREATE TABLE public.passkey (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    name text NOT NULL,
    credential bytea NOT NULL,
    algorithm integer NOT NULL,
    public_key bytea NOT NULL,
    counter bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    removed_at timestamp with time zone,
    counts_from timestamp with time zone,
    CONSTRAINT passkey_counter_has_32_bits CHECK (((counter >= 0) AND (counter <=
        '4294967295'::bigint))),
    CONSTRAINT passkey_credential_is_short CHECK (((octet_length(credential) >= 1) AND
        (octet_length(credential) <= 1023))),
    CONSTRAINT passkey_key_is_short CHECK (((octet_length(public_key) >= 1) AND
        (octet_length(public_key) <= 4096))),
    CONSTRAINT passkey_name_is_short CHECK (((octet_length(name) >= 1) AND (octet_length(name) <=
        128)))
);

ALTER TABLE ONLY public.passkey FORCE ROW LEVEL SECURITY;

CREATE TABLE public.passkey_offer (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    key_id text NOT NULL,
    name text NOT NULL,
    challenge bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT passkey_offer_challenge_is_sha256 CHECK ((octet_length(challenge) = 32)),
    CONSTRAINT passkey_offer_name_is_short CHECK (((octet_length(name) >= 1) AND (octet_length(name)
        <= 128)))
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.passkey_offer FORCE ROW LEVEL SECURITY;

CREATE TABLE public.pending_change (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    object text NOT NULL,
    command json NOT NULL,
    verdict text NOT NULL,
    findings json NOT NULL,
    evidence json NOT NULL,
    reason text,
    proposed_by uuid NOT NULL,
    proposed_at timestamp with time zone NOT NULL,
    takes_effect_at timestamp with time zone,
    outcome text,
    closed_by uuid,
    closed_at timestamp with time zone,
    objection text,
    objectors uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    CONSTRAINT pending_change_is_closed_by_a_person CHECK (((outcome IS NULL) OR ((closed_by IS
        NULL) = (outcome = ANY (ARRAY['applied'::text, 'outdated'::text]))))),
    CONSTRAINT pending_change_is_closed_once CHECK ((num_nonnulls(outcome, closed_at) = ANY
        (ARRAY[0, 2]))),
    CONSTRAINT pending_change_outcome_is_known CHECK ((outcome = ANY (ARRAY['published'::text,
        'withdrawn'::text, 'objected'::text, 'applied'::text, 'outdated'::text]))),
    CONSTRAINT pending_change_texts_are_bounded CHECK (((octet_length(kind) <= 64) AND
        (octet_length(object) <= 1024) AND (octet_length(reason) <= 4096) AND
        (octet_length(objection) <= 4096))),
    CONSTRAINT pending_change_verdict_is_known CHECK ((verdict = ANY (ARRAY['looser'::text,
        'mixed'::text])))
);

ALTER TABLE ONLY public.pending_change FORCE ROW LEVEL SECURITY;

CREATE TABLE public.policy (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    current_version integer
);

ALTER TABLE ONLY public.policy FORCE ROW LEVEL SECURITY;

CREATE TABLE public.policy_draft (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    policy_id uuid NOT NULL,
    base_version integer NOT NULL,
    document json NOT NULL,
    reason text,
    proposed_by uuid NOT NULL,
    proposed_at timestamp with time zone NOT NULL,
    outcome text,
    closed_by uuid,
    closed_at timestamp with time zone,
    CONSTRAINT policy_draft_base_is_natural CHECK ((base_version >= 0)),
    CONSTRAINT policy_draft_is_closed_by_a_person CHECK ((num_nonnulls(outcome, closed_by,
        closed_at) = ANY (ARRAY[0, 3]))),
    CONSTRAINT policy_draft_outcome_is_known CHECK ((outcome = ANY (ARRAY['published'::text,
        'withdrawn'::text]))),
    CONSTRAINT policy_draft_reason_is_bounded CHECK ((octet_length(reason) <= 4096))
);

ALTER TABLE ONLY public.policy_draft FORCE ROW LEVEL SECURITY;

CREATE TABLE public.policy_version (
    tenant_id uuid NOT NULL,
    policy_id uuid NOT NULL,
    version integer NOT NULL,
    document json NOT NULL,
    proposed_by uuid NOT NULL,
    confirmed_by uuid,
    published_at timestamp with time zone NOT NULL,
    CONSTRAINT policy_version_counts_from_one CHECK ((version >= 1)),
    CONSTRAINT policy_version_has_two_admins CHECK ((confirmed_by <> proposed_by))
);

ALTER TABLE ONLY public.policy_version FORCE ROW LEVEL SECURITY;

CREATE TABLE public.resource (
    tenant_id uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    criticality smallint,
    environment text,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    owner_id uuid,
    block_on_unknown boolean DEFAULT true NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT resource_criticality_is_a_score CHECK (((criticality >= 0) AND (criticality <=
        100))),
    CONSTRAINT resource_name_is_type_and_id CHECK (((name ~ '^[a-z0-9_-]{1,64}:[!-~]+$'::text) AND
        ((length(name) - strpos(name, ':'::text)) <= 256)))
);

ALTER TABLE ONLY public.resource FORCE ROW LEVEL SECURITY;

CREATE TABLE public.resource_dependency (
    tenant_id uuid NOT NULL,
    resource text NOT NULL COLLATE pg_catalog."C",
    dependent text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT resource_dependency_is_of_another CHECK ((dependent <> resource))
);

ALTER TABLE ONLY public.resource_dependency FORCE ROW LEVEL SECURITY;

CREATE TABLE public.risk_assessment (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    revision integer NOT NULL,
    score smallint NOT NULL,
    level text NOT NULL,
    factors json NOT NULL,
    assessed_at timestamp with time zone NOT NULL,
    assessed_by text NOT NULL,
    CONSTRAINT risk_assessment_level_is_known CHECK ((level = ANY (ARRAY['LOW'::text,
        'MEDIUM'::text, 'HIGH'::text, 'CRITICAL'::text]))),
    CONSTRAINT risk_assessment_score_is_a_score CHECK (((score >= 0) AND (score <= 100)))
);

ALTER TABLE ONLY public.risk_assessment FORCE ROW LEVEL SECURITY;

CREATE TABLE public.risk_setting (
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    document json NOT NULL,
    set_by uuid NOT NULL,
    set_at timestamp with time zone NOT NULL,
    CONSTRAINT risk_setting_counts_from_one CHECK ((version >= 1))
);

ALTER TABLE ONLY public.risk_setting FORCE ROW LEVEL SECURITY;

CREATE TABLE public.rulebook (
    tenant_id uuid NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT rulebook_counts_from_one CHECK ((version >= 1))
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.rulebook FORCE ROW LEVEL SECURITY;

CREATE TABLE public.scheduled_job (
    tenant_id uuid NOT NULL,
    kind text NOT NULL,
    object uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT scheduled_job_kind_is_short CHECK (((octet_length(kind) >= 1) AND (octet_length(kind)
        <= 64)))
)
WITH (fillfactor='80');

ALTER TABLE ONLY public.scheduled_job FORCE ROW LEVEL SECURITY;

CREATE TABLE public.sign_in (
    hash bytea NOT NULL,
    provider text NOT NULL,
    nonce text NOT NULL,
    verifier text NOT NULL,
    return_to text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT sign_in_hash_is_sha256 CHECK ((octet_length(hash) = 32))
);

ALTER TABLE ONLY public.sign_in FORCE ROW LEVEL SECURITY;

CREATE TABLE public.step_up (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    key_id text NOT NULL,
    purpose text NOT NULL,
    subject bytea NOT NULL,
    nonce bytea NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    passkey_id uuid,
    client_data bytea,
    authenticator_data bytea,
    signature bytea,
    given_at timestamp with time zone,
    used_at timestamp with time zone,
    CONSTRAINT step_up_hashes_are_sha256 CHECK (((octet_length(subject) = 32) AND
        (octet_length(nonce) = 32))),
    CONSTRAINT step_up_is_given_in_time CHECK (((given_at >= asked_at) AND (given_at <= (asked_at +
        '00:05:00'::interval)))),
    CONSTRAINT step_up_is_given_whole CHECK ((num_nonnulls(passkey_id, client_data,
        authenticator_data, signature, given_at) = ANY (ARRAY[0, 5]))),
    CONSTRAINT step_up_is_used_in_time CHECK (((used_at IS NULL) OR ((given_at IS NOT NULL) AND
        ((used_at >= given_at) AND (used_at <= (given_at + '00:05:00'::interval)))))),
    CONSTRAINT step_up_parts_are_short CHECK (((COALESCE(octet_length(client_data), 0) <= 4096) AND
        (COALESCE(octet_length(authenticator_data), 0) <= 4096) AND
        (COALESCE(octet_length(signature), 0) <= 4096))),
    CONSTRAINT step_up_purpose_is_short CHECK (((octet_length(purpose) >= 1) AND
        (octet_length(purpose) <= 32)))
);

ALTER TABLE ONLY public.step_up FORCE ROW LEVEL SECURITY;

CREATE TABLE public.tally_cursor (
    tenant_id uuid NOT NULL,
    below xid8 NOT NULL,
    at timestamp with time zone NOT NULL
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.tally_cursor FORCE ROW LEVEL SECURITY;

CREATE TABLE public.task (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    number bigint NOT NULL,
    state text NOT NULL,
    since timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    revision integer NOT NULL,
    title text NOT NULL,
    task_type text NOT NULL,
    priority smallint NOT NULL,
    risk smallint NOT NULL,
    level text NOT NULL,
    digest bytea NOT NULL,
    author_id uuid NOT NULL,
    agent_id uuid,
    submitter_id uuid,
    editors uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    team text,
    ticket text,
    round integer DEFAULT 0 NOT NULL,
    review_opened_at timestamp with time zone,
    escalated_to_us bigint DEFAULT 0 NOT NULL,
    basis json,
    attempts integer DEFAULT 0 NOT NULL,
    not_before timestamp with time zone,
    hurried_at timestamp with time zone,
    resubmits uuid,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    submitted_at timestamp with time zone,
    extended_to timestamp with time zone,
    timeout_seconds integer DEFAULT 3600 NOT NULL,
    rollback text DEFAULT 'none'::text NOT NULL,
    rollback_steps text,
    decision json,
    is_released boolean DEFAULT false NOT NULL,
    token_issuers uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    CONSTRAINT task_applying_has_attempt CHECK (((state <> 'APPLYING'::text) OR (attempts > 0))),
    CONSTRAINT task_approved_has_basis CHECK (((state <> ALL (ARRAY['APPROVED'::text,
        'APPLYING'::text])) OR (basis IS NOT NULL))),
    CONSTRAINT task_counts_are_natural CHECK (((version >= 1) AND (revision >= 1) AND (round >= 0)
        AND (attempts >= 0) AND (escalated_to_us >= 0))),
    CONSTRAINT task_digest_is_sha256 CHECK ((octet_length(digest) = 32)),
    CONSTRAINT task_level_is_known CHECK ((level = ANY (ARRAY['LOW'::text, 'MEDIUM'::text,
        'HIGH'::text, 'CRITICAL'::text]))),
    CONSTRAINT task_manual_rollback_has_steps CHECK (((rollback = 'manual'::text) = (rollback_steps
        IS NOT NULL))),
    CONSTRAINT task_past_draft_has_submitter CHECK (((state = ANY (ARRAY['DRAFT'::text,
        'CANCELLED'::text])) OR (submitter_id IS NOT NULL))),
    CONSTRAINT task_priority_is_a_score CHECK (((priority >= 0) AND (priority <= 100))),
    CONSTRAINT task_reviewing_was_opened CHECK (((state <> 'REVIEWING'::text) OR (review_opened_at
        IS NOT NULL))),
    CONSTRAINT task_risk_is_a_score CHECK (((risk >= 0) AND (risk <= 100))),
    CONSTRAINT task_rollback_is_known CHECK ((rollback = ANY (ARRAY['automatic'::text,
        'manual'::text, 'none'::text]))),
    CONSTRAINT task_rollback_steps_are_short CHECK (((octet_length(rollback_steps) >= 1) AND
        (octet_length(rollback_steps) <= 4096))),
    CONSTRAINT task_state_is_known CHECK ((state = ANY (ARRAY['DRAFT'::text, 'SUBMITTED'::text,
        'REVIEWING'::text, 'APPROVED'::text, 'APPLYING'::text, 'COMPLETED'::text, 'REJECTED'::text,
        'CANCELLED'::text, 'FAILED'::text, 'UNKNOWN'::text, 'EXPIRED'::text]))),
    CONSTRAINT task_terminal_has_closed_at CHECK (((state = ANY (ARRAY['COMPLETED'::text,
        'REJECTED'::text, 'CANCELLED'::text, 'EXPIRED'::text])) = (closed_at IS NOT NULL))),
    CONSTRAINT task_timeout_is_bounded CHECK (((timeout_seconds >= 1) AND (timeout_seconds <=
        86400)))
)
WITH (fillfactor='80');

ALTER TABLE ONLY public.task FORCE ROW LEVEL SECURITY;

CREATE TABLE public.task_number (
    tenant_id uuid NOT NULL,
    last bigint NOT NULL
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.task_number FORCE ROW LEVEL SECURITY;

CREATE TABLE public.task_policy_pin (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    policy_id uuid NOT NULL,
    version integer NOT NULL,
    place integer NOT NULL
);

ALTER TABLE ONLY public.task_policy_pin FORCE ROW LEVEL SECURITY;

CREATE TABLE public.task_resource (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    revision integer NOT NULL,
    resource text NOT NULL COLLATE pg_catalog."C",
    mode text,
    CONSTRAINT task_resource_name_is_type_and_id CHECK (((resource ~
        '^[a-z0-9_-]{1,64}:[!-~]+$'::text) AND ((length(resource) - strpos(resource, ':'::text)) <=
        256)))
);

ALTER TABLE ONLY public.task_resource FORCE ROW LEVEL SECURITY;

CREATE TABLE public.task_revision (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    revision integer NOT NULL,
    digest bytea NOT NULL,
    shape bytea NOT NULL,
    task_type text NOT NULL,
    risk smallint NOT NULL,
    level text NOT NULL,
    origin text NOT NULL,
    author_kind text NOT NULL,
    author_roles text[] NOT NULL,
    parameters json NOT NULL,
    effect json NOT NULL,
    preview_versions json NOT NULL,
    editor_id uuid,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT task_revision_author_kind_is_known CHECK ((author_kind = ANY (ARRAY['user'::text,
        'agent'::text]))),
    CONSTRAINT task_revision_counts_from_one CHECK ((revision >= 1)),
    CONSTRAINT task_revision_digests_are_sha256 CHECK (((octet_length(digest) = 32) AND
        (octet_length(shape) = 32))),
    CONSTRAINT task_revision_level_is_known CHECK ((level = ANY (ARRAY['LOW'::text, 'MEDIUM'::text,
        'HIGH'::text, 'CRITICAL'::text]))),
    CONSTRAINT task_revision_origin_is_known CHECK ((origin = ANY (ARRAY['observed'::text,
        'declared'::text]))),
    CONSTRAINT task_revision_risk_is_a_score CHECK (((risk >= 0) AND (risk <= 100)))
);

ALTER TABLE ONLY public.task_revision FORCE ROW LEVEL SECURITY;

CREATE TABLE public.task_tag (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    revision integer NOT NULL,
    tag text NOT NULL COLLATE pg_catalog."C"
);

ALTER TABLE ONLY public.task_tag FORCE ROW LEVEL SECURITY;

CREATE TABLE public.tenant (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    active boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    setup_ended_at timestamp with time zone,
    CONSTRAINT tenant_name_is_short CHECK (((octet_length(name) >= 1) AND (octet_length(name) <=
        128)))
);

ALTER TABLE ONLY public.tenant FORCE ROW LEVEL SECURITY;

CREATE TABLE public.time_setting (
    tenant_id uuid NOT NULL,
    version integer NOT NULL,
    document json NOT NULL,
    set_by uuid NOT NULL,
    set_at timestamp with time zone NOT NULL,
    CONSTRAINT time_setting_counts_from_one CHECK ((version >= 1))
);

ALTER TABLE ONLY public.time_setting FORCE ROW LEVEL SECURITY;

CREATE TABLE public.user_alias (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    alias_id uuid NOT NULL,
    until_confirmed boolean DEFAULT false NOT NULL,
    CONSTRAINT user_alias_is_another CHECK ((alias_id <> user_id))
);

ALTER TABLE ONLY public.user_alias FORCE ROW LEVEL SECURITY;

CREATE TABLE public.user_role (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    role text NOT NULL,
    granted_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT user_role_name_is_short CHECK (((octet_length(role) >= 1) AND (octet_length(role) <=
        128)))
);

ALTER TABLE ONLY public.user_role FORCE ROW LEVEL SECURITY;

CREATE TABLE public.vote (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    seq bigint NOT NULL,
    id uuid DEFAULT public.uuid_v7() NOT NULL,
    voter_id uuid NOT NULL,
    answer text NOT NULL,
    revision integer NOT NULL,
    digest bytea NOT NULL,
    round integer NOT NULL,
    places uuid[] NOT NULL,
    reason text,
    at timestamp with time zone NOT NULL,
    effectual boolean NOT NULL,
    carried_from integer,
    marks text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT vote_answer_is_known CHECK ((answer = ANY (ARRAY['approve'::text, 'reject'::text,
        'request_changes'::text]))),
    CONSTRAINT vote_digest_is_sha256 CHECK ((octet_length(digest) = 32)),
    CONSTRAINT vote_is_carried_forward CHECK ((carried_from < revision)),
    CONSTRAINT vote_no_has_a_reason CHECK (((answer = 'approve'::text) OR (reason IS NOT NULL))),
    CONSTRAINT vote_reason_is_bounded CHECK ((octet_length(reason) <= 4096))
);

ALTER TABLE ONLY public.vote FORCE ROW LEVEL SECURITY;

ALTER TABLE public.vote ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.vote_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.vote_withdrawal (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    vote_seq bigint NOT NULL,
    at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY public.vote_withdrawal FORCE ROW LEVEL SECURITY;

CREATE TABLE public.webhook_circuit (
    tenant_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    open_until timestamp with time zone,
    failing_since timestamp with time zone,
    problem text,
    delivered_at timestamp with time zone,
    CONSTRAINT webhook_circuit_failures_are_natural CHECK ((failures >= 0))
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.webhook_circuit FORCE ROW LEVEL SECURITY;

CREATE TABLE public.webhook_delivery (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    event_id text NOT NULL,
    seq bigint,
    kind text NOT NULL,
    object text NOT NULL,
    body text NOT NULL,
    state text NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    next_at timestamp with time zone NOT NULL,
    sender uuid,
    sending_until timestamp with time zone,
    status integer,
    excerpt text,
    problem text,
    created_at timestamp with time zone NOT NULL,
    queued_at timestamp with time zone NOT NULL,
    tried_at timestamp with time zone,
    ended_at timestamp with time zone,
    CONSTRAINT webhook_delivery_ends_once CHECK (((state = ANY (ARRAY['delivered'::text,
        'dead'::text])) = (ended_at IS NOT NULL))),
    CONSTRAINT webhook_delivery_is_sent_by_a_worker CHECK (((sender IS NULL) = (sending_until IS
        NULL))),
    CONSTRAINT webhook_delivery_is_sent_when_its_turn_comes CHECK (((sender IS NULL) OR (state =
        'pending'::text))),
    CONSTRAINT webhook_delivery_state_is_known CHECK ((state = ANY (ARRAY['waiting'::text,
        'pending'::text, 'delivered'::text, 'dead'::text]))),
    CONSTRAINT webhook_delivery_tries_are_natural CHECK ((tries >= 0))
)
WITH (fillfactor='70');

ALTER TABLE ONLY public.webhook_delivery FORCE ROW LEVEL SECURITY;

CREATE TABLE public.webhook_endpoint (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    url text NOT NULL,
    label text NOT NULL,
    events text[] NOT NULL,
    scheme text NOT NULL,
    salt bytea NOT NULL,
    old_salt bytea,
    old_until timestamp with time zone,
    state text NOT NULL,
    reason text,
    version bigint NOT NULL,
    created_by uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    active_since timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT webhook_endpoint_counts_from_one CHECK ((version >= 1)),
    CONSTRAINT webhook_endpoint_disabled_has_reason CHECK (((state = 'disabled'::text) = (reason IS
        NOT NULL))),
    CONSTRAINT webhook_endpoint_hears_something CHECK (((cardinality(events) >= 1) AND
        (cardinality(events) <= 64))),
    CONSTRAINT webhook_endpoint_label_is_short CHECK ((octet_length(label) <= 128)),
    CONSTRAINT webhook_endpoint_old_salt_ends CHECK (((old_salt IS NULL) = (old_until IS NULL))),
    CONSTRAINT webhook_endpoint_salts_are_long CHECK (((octet_length(salt) = 32) AND
        COALESCE((octet_length(old_salt) = 32), true))),
    CONSTRAINT webhook_endpoint_scheme_is_known CHECK ((scheme = ANY (ARRAY['v1'::text,
        'v1a'::text]))),
    CONSTRAINT webhook_endpoint_state_is_known CHECK ((state = ANY (ARRAY['active'::text,
        'disabled'::text]))),
    CONSTRAINT webhook_endpoint_url_is_bounded CHECK (((octet_length(url) >= 1) AND
        (octet_length(url) <= 2048)))
);

ALTER TABLE ONLY public.webhook_endpoint FORCE ROW LEVEL SECURITY;

CREATE TABLE public.worker_lease (
    name text NOT NULL,
    shard integer NOT NULL,
    holder uuid NOT NULL,
    fence bigint NOT NULL,
    deadline timestamp with time zone NOT NULL,
    ran_at timestamp with time zone,
    runs bigint DEFAULT 0 NOT NULL,
    items bigint DEFAULT 0 NOT NULL,
    failure text,
    CONSTRAINT worker_lease_counts_are_natural CHECK (((runs >= 0) AND (items >= 0))),
    CONSTRAINT worker_lease_failure_is_short CHECK ((octet_length(failure) <= 1024)),
    CONSTRAINT worker_lease_fence_is_natural CHECK ((fence >= 0))
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.worker_lease FORCE ROW LEVEL SECURITY;

ALTER TABLE ONLY public.after_review
    ADD CONSTRAINT after_review_pkey PRIMARY KEY (tenant_id, task_id, id);

ALTER TABLE ONLY public.agent_config_version
    ADD CONSTRAINT agent_config_version_pkey PRIMARY KEY (tenant_id, agent_id, version);

ALTER TABLE ONLY public.agent
    ADD CONSTRAINT agent_name_is_taken UNIQUE (tenant_id, name);

ALTER TABLE ONLY public.agent
    ADD CONSTRAINT agent_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.agent_session
    ADD CONSTRAINT agent_session_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE public.app_user
    ADD CONSTRAINT app_user_is_unconfirmed_by_invitation CHECK ((num_nonnulls(invited_by,
        unconfirmed_since) = ANY (ARRAY[0, 2]))) NOT VALID;

ALTER TABLE ONLY public.app_user
    ADD CONSTRAINT app_user_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.app_user
    ADD CONSTRAINT app_user_subject_is_one_person UNIQUE (tenant_id, issuer, subject);

ALTER TABLE ONLY public.approval
    ADD CONSTRAINT approval_id_is_unique UNIQUE (tenant_id, id);

ALTER TABLE ONLY public.approval
    ADD CONSTRAINT approval_pkey PRIMARY KEY (tenant_id, task_id, revision, reviewer_id);

ALTER TABLE ONLY public.audit_entry
    ADD CONSTRAINT audit_entry_pkey PRIMARY KEY (tenant_id, at, id);

ALTER TABLE ONLY public.comment
    ADD CONSTRAINT comment_pkey PRIMARY KEY (tenant_id, task_id, seq);

ALTER TABLE ONLY public.consumer_cursor
    ADD CONSTRAINT consumer_cursor_pkey PRIMARY KEY (tenant_id, consumer);

ALTER TABLE ONLY public.consumer_trouble
    ADD CONSTRAINT consumer_trouble_pkey PRIMARY KEY (tenant_id, consumer);

ALTER TABLE ONLY public.daily_count
    ADD CONSTRAINT daily_count_pkey PRIMARY KEY (tenant_id, day, name);

ALTER TABLE ONLY public.dead_event
    ADD CONSTRAINT dead_event_dies_once UNIQUE (tenant_id, consumer, tenant_seq);

ALTER TABLE ONLY public.dead_event
    ADD CONSTRAINT dead_event_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.delegation
    ADD CONSTRAINT delegation_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.device_login
    ADD CONSTRAINT device_login_code_is_one UNIQUE (code);

ALTER TABLE ONLY public.device_login
    ADD CONSTRAINT device_login_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY public.event_head
    ADD CONSTRAINT event_head_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY public.event_rate
    ADD CONSTRAINT event_rate_pkey PRIMARY KEY (tenant_id, hour, kind);

ALTER TABLE ONLY public.execution
    ADD CONSTRAINT execution_is_found_by_id UNIQUE (tenant_id, id);

ALTER TABLE ONLY public.execution_line
    ADD CONSTRAINT execution_line_pkey PRIMARY KEY (tenant_id, execution_id, number);

ALTER TABLE ONLY public.execution
    ADD CONSTRAINT execution_pkey PRIMARY KEY (tenant_id, task_id, id);

ALTER TABLE public.execution
    ADD CONSTRAINT execution_result_is_known CHECK ((result = ANY (ARRAY['success'::text,
        'failure'::text, 'timeout'::text, 'succeeded'::text, 'failed'::text, 'timed_out'::text,
        'cancelled'::text, 'released_to_host'::text, 'unknown'::text, 'drifted'::text,
        'lost'::text]))) NOT VALID;

ALTER TABLE ONLY public.export_batch
    ADD CONSTRAINT export_batch_pkey PRIMARY KEY (tenant_id, consumer, first_seq);

ALTER TABLE ONLY public.failure_history
    ADD CONSTRAINT failure_history_pkey PRIMARY KEY (tenant_id, task_type, resource);

ALTER TABLE ONLY public.feature_flag
    ADD CONSTRAINT feature_flag_pkey PRIMARY KEY (tenant_id, name);

ALTER TABLE ONLY public."freeze"
    ADD CONSTRAINT freeze_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.group_role
    ADD CONSTRAINT group_role_pkey PRIMARY KEY (tenant_id, issuer, group_name, role);

ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (tenant_id, principal, route, key);

ALTER TABLE ONLY public.inbound_minute
    ADD CONSTRAINT inbound_minute_pkey PRIMARY KEY (tenant_id, source_id);

ALTER TABLE ONLY public.inbound_source
    ADD CONSTRAINT inbound_source_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.installation_freeze
    ADD CONSTRAINT installation_freeze_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.invitation
    ADD CONSTRAINT invitation_pkey PRIMARY KEY (tenant_id, user_id);

ALTER TABLE ONLY public.live_ticket
    ADD CONSTRAINT live_ticket_pkey PRIMARY KEY (tenant_id, hash);

ALTER TABLE ONLY public.lock_deadlock
    ADD CONSTRAINT lock_deadlock_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.lock_epoch
    ADD CONSTRAINT lock_epoch_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY public.lock_fence
    ADD CONSTRAINT lock_fence_pkey PRIMARY KEY (tenant_id, resource);

ALTER TABLE ONLY public.lock_hold
    ADD CONSTRAINT lock_hold_pkey PRIMARY KEY (tenant_id, lease_id, resource);

ALTER TABLE ONLY public.lock_rate
    ADD CONSTRAINT lock_rate_pkey PRIMARY KEY (tenant_id, caller);

ALTER TABLE ONLY public.lock_wait
    ADD CONSTRAINT lock_wait_pkey PRIMARY KEY (tenant_id, lease_id);

ALTER TABLE ONLY public.message_channel
    ADD CONSTRAINT message_channel_pkey PRIMARY KEY (tenant_id, user_id, channel);

ALTER TABLE public.message_item
    ADD CONSTRAINT message_item_has_one_subject CHECK (((num_nonnulls(task_id, detail) = 1) AND
        (octet_length(detail) <= 2048) AND (num_nonnulls(seq, detail) = 1))) NOT VALID;

ALTER TABLE ONLY public.message_item
    ADD CONSTRAINT message_item_is_sent_once UNIQUE (tenant_id, user_id, channel, seq);

ALTER TABLE ONLY public.message_item
    ADD CONSTRAINT message_item_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE public.notification
    ADD CONSTRAINT notification_has_one_subject CHECK (((num_nonnulls(task_id, detail) = 1) AND
        (octet_length(detail) <= 2048))) NOT VALID;

ALTER TABLE ONLY public.notification
    ADD CONSTRAINT notification_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.notification_preference
    ADD CONSTRAINT notification_preference_pkey PRIMARY KEY (tenant_id, user_id);

ALTER TABLE ONLY public.on_call
    ADD CONSTRAINT on_call_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (tenant_id, at, seq);

ALTER TABLE ONLY public.override
    ADD CONSTRAINT override_pkey PRIMARY KEY (tenant_id, task_id, id);

ALTER TABLE ONLY public.passkey
    ADD CONSTRAINT passkey_is_known_once UNIQUE (tenant_id, credential);

ALTER TABLE ONLY public.passkey_offer
    ADD CONSTRAINT passkey_offer_pkey PRIMARY KEY (tenant_id, user_id);

ALTER TABLE ONLY public.passkey
    ADD CONSTRAINT passkey_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.pending_change
    ADD CONSTRAINT pending_change_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.policy_draft
    ADD CONSTRAINT policy_draft_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.policy
    ADD CONSTRAINT policy_name_is_taken UNIQUE (tenant_id, name);

ALTER TABLE ONLY public.policy
    ADD CONSTRAINT policy_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.policy_version
    ADD CONSTRAINT policy_version_pkey PRIMARY KEY (tenant_id, policy_id, version);

ALTER TABLE ONLY public.resource_dependency
    ADD CONSTRAINT resource_dependency_pkey PRIMARY KEY (tenant_id, resource, dependent);

ALTER TABLE ONLY public.resource
    ADD CONSTRAINT resource_pkey PRIMARY KEY (tenant_id, name);

ALTER TABLE ONLY public.risk_assessment
    ADD CONSTRAINT risk_assessment_pkey PRIMARY KEY (tenant_id, task_id, revision);

ALTER TABLE ONLY public.risk_setting
    ADD CONSTRAINT risk_setting_pkey PRIMARY KEY (tenant_id, version);

ALTER TABLE ONLY public.rulebook
    ADD CONSTRAINT rulebook_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY public.scheduled_job
    ADD CONSTRAINT scheduled_job_pkey PRIMARY KEY (tenant_id, kind, object);

ALTER TABLE ONLY public.sign_in
    ADD CONSTRAINT sign_in_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY public.step_up
    ADD CONSTRAINT step_up_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.tally_cursor
    ADD CONSTRAINT tally_cursor_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY public.task
    ADD CONSTRAINT task_number_is_taken UNIQUE (tenant_id, number);

ALTER TABLE ONLY public.task_number
    ADD CONSTRAINT task_number_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY public.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.task_policy_pin
    ADD CONSTRAINT task_policy_pin_pkey PRIMARY KEY (tenant_id, task_id, policy_id);

ALTER TABLE ONLY public.task_resource
    ADD CONSTRAINT task_resource_pkey PRIMARY KEY (tenant_id, task_id, revision, resource);

ALTER TABLE ONLY public.task_revision
    ADD CONSTRAINT task_revision_pkey PRIMARY KEY (tenant_id, task_id, revision);

ALTER TABLE ONLY public.task_tag
    ADD CONSTRAINT task_tag_pkey PRIMARY KEY (tenant_id, task_id, revision, tag);

ALTER TABLE ONLY public.tenant
    ADD CONSTRAINT tenant_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY public.time_setting
    ADD CONSTRAINT time_setting_pkey PRIMARY KEY (tenant_id, version);

ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_pkey PRIMARY KEY (tenant_id, key_id);

ALTER TABLE ONLY public.user_alias
    ADD CONSTRAINT user_alias_pkey PRIMARY KEY (tenant_id, user_id, alias_id);

ALTER TABLE ONLY public.user_role
    ADD CONSTRAINT user_role_pkey PRIMARY KEY (tenant_id, user_id, role);

ALTER TABLE ONLY public.vote
    ADD CONSTRAINT vote_id_is_unique UNIQUE (tenant_id, id);

ALTER TABLE public.vote
    ADD CONSTRAINT vote_marks_are_known CHECK ((marks <@ ARRAY['unconfirmed'::text,
        'new_role'::text, 'new_passkey'::text])) NOT VALID;

ALTER TABLE ONLY public.vote
    ADD CONSTRAINT vote_pkey PRIMARY KEY (tenant_id, task_id, seq);

ALTER TABLE ONLY public.vote_withdrawal
    ADD CONSTRAINT vote_withdrawal_pkey PRIMARY KEY (tenant_id, task_id, vote_seq);

ALTER TABLE ONLY public.webhook_circuit
    ADD CONSTRAINT webhook_circuit_pkey PRIMARY KEY (tenant_id, endpoint_id);

ALTER TABLE ONLY public.webhook_delivery
    ADD CONSTRAINT webhook_delivery_is_made_once UNIQUE (tenant_id, endpoint_id, seq);

ALTER TABLE ONLY public.webhook_delivery
    ADD CONSTRAINT webhook_delivery_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.webhook_endpoint
    ADD CONSTRAINT webhook_endpoint_pkey PRIMARY KEY (tenant_id, id);

ALTER TABLE ONLY public.worker_lease
    ADD CONSTRAINT worker_lease_pkey PRIMARY KEY (name, shard);

CREATE INDEX after_review_owed ON public.after_review USING btree (tenant_id, due_at, id) WHERE
        (done_at IS NULL);

CREATE INDEX agent_by_owner ON public.agent USING btree (tenant_id, owner_id);

CREATE INDEX agent_session_open ON public.agent_session USING btree (tenant_id, lease_until) WHERE
        (closed_at IS NULL);

CREATE INDEX agent_session_seen ON public.agent_session USING btree (tenant_id, agent_id, seen_at)
        WHERE (seen_at IS NOT NULL);

CREATE INDEX app_user_by_manager ON public.app_user USING btree (tenant_id, manager_id) WHERE
        (manager_id IS NOT NULL);

CREATE INDEX app_user_by_subject ON public.app_user USING btree (issuer, subject);

CREATE INDEX approval_ended ON public.approval USING btree (tenant_id, reviewer_id, status, id)
        WHERE (status <> 'PENDING'::text);

CREATE INDEX approval_overdue ON public.approval USING btree (tenant_id, reviewer_id, due_at, id)
        WHERE (status = 'PENDING'::text);

CREATE INDEX approval_queue ON public.approval USING btree (tenant_id, reviewer_id, score DESC, id)
        WHERE (status = 'PENDING'::text);

CREATE INDEX audit_entry_by_commit ON ONLY public.audit_entry USING btree (tenant_id, xid, id);

CREATE INDEX audit_entry_of_agent ON ONLY public.audit_entry USING btree (tenant_id, agent_id, at,
        id) WHERE (agent_id IS NOT NULL);

CREATE INDEX audit_entry_of_kind ON ONLY public.audit_entry USING btree (tenant_id, kind, at, id)
        WHERE (kind <> 'change'::text);

CREATE INDEX audit_entry_of_object ON ONLY public.audit_entry USING btree (tenant_id, object, at);

CREATE INDEX audit_entry_of_user ON ONLY public.audit_entry USING btree (tenant_id, user_id, at, id)
        WHERE (user_id IS NOT NULL);

CREATE INDEX dead_event_of_group ON public.dead_event USING btree (tenant_id, consumer, id) WHERE
        (state = 'dead'::text);

CREATE INDEX delegation_of_owner ON public.delegation USING btree (tenant_id, owner_id, id) WHERE
        active;

CREATE INDEX device_login_by_address ON public.device_login USING btree (address) WHERE (decided_at
        IS NULL);

CREATE INDEX device_login_expired ON public.device_login USING btree (expires_at);

CREATE UNIQUE INDEX execution_one_live_per_task ON public.execution USING btree (tenant_id, task_id)
        WHERE (ended_at IS NULL);

CREATE INDEX freeze_in_force ON public."freeze" USING btree (tenant_id, id) WHERE (lifted_at IS
        NULL);

CREATE INDEX group_role_by_group ON public.group_role USING btree (issuer, group_name);

CREATE INDEX idempotency_expired ON public.idempotency USING btree (tenant_id, expires_at);

CREATE UNIQUE INDEX installation_freeze_in_force ON public.installation_freeze USING btree
        (((lifted_at IS NULL))) WHERE (lifted_at IS NULL);

CREATE UNIQUE INDEX invitation_key_id_names_one_tenant ON public.invitation USING btree (key_id);

CREATE INDEX live_ticket_expired ON public.live_ticket USING btree (tenant_id, expires_at);

CREATE INDEX lock_hold_of_agent ON public.lock_hold USING btree (tenant_id, agent) WHERE ((agent IS
        NOT NULL) AND (fenced_by IS NULL) AND (released_at IS NULL));

CREATE INDEX lock_hold_open ON public.lock_hold USING btree (tenant_id, resource) WHERE ((fenced_by
        IS NULL) AND (released_at IS NULL));

CREATE INDEX lock_wait_by_deadline ON public.lock_wait USING btree (tenant_id, deadline);

CREATE UNIQUE INDEX lock_wait_of_an_owner ON public.lock_wait USING btree (tenant_id, owner) WHERE
        (state = 'waiting'::text);

CREATE INDEX message_item_of_task ON public.message_item USING btree (tenant_id, task_id);

CREATE INDEX message_item_waiting ON public.message_item USING btree (tenant_id, user_id, channel,
        seq) WHERE (state = 'waiting'::text);

CREATE INDEX notification_of_task ON public.notification USING btree (tenant_id, task_id);

CREATE INDEX notification_of_user ON public.notification USING btree (tenant_id, user_id, id);

CREATE INDEX on_call_of_role ON public.on_call USING btree (tenant_id, role, ends_at);

CREATE INDEX outbox_by_tenant_seq ON ONLY public.outbox USING btree (tenant_id, tenant_seq) WHERE
        (tenant_seq IS NOT NULL);

CREATE INDEX outbox_to_relay ON ONLY public.outbox USING btree (seq) WHERE (tenant_seq IS NULL);

CREATE UNIQUE INDEX override_one_live_per_task ON public.override USING btree (tenant_id, task_id)
        WHERE (dropped_at IS NULL);

CREATE INDEX passkey_of_user ON public.passkey USING btree (tenant_id, user_id) WHERE (removed_at IS
        NULL);

CREATE INDEX pending_change_open ON public.pending_change USING btree (tenant_id, id) WHERE
        (closed_at IS NULL);

CREATE INDEX policy_draft_open ON public.policy_draft USING btree (tenant_id, id) WHERE (closed_at
        IS NULL);

CREATE INDEX resource_by_owner ON public.resource USING btree (tenant_id, owner_id) WHERE (owner_id
        IS NOT NULL);

CREATE INDEX resource_dependency_by_dependent ON public.resource_dependency USING btree (tenant_id,
        dependent);

CREATE INDEX scheduled_job_next ON public.scheduled_job USING btree (kind, at);

CREATE INDEX scheduled_job_of_tenant ON public.scheduled_job USING btree (kind, tenant_id, at) WHERE
        (at > '-infinity'::timestamp with time zone);

CREATE INDEX session_ended ON public.token USING btree (tenant_id, LEAST(expires_at, revoked_at))
        WHERE ((idle_until IS NOT NULL) AND (LEAST(expires_at, revoked_at) IS NOT NULL));

CREATE INDEX sign_in_expired ON public.sign_in USING btree (expires_at);

CREATE INDEX step_up_open ON public.step_up USING btree (tenant_id, user_id, asked_at) WHERE
        (used_at IS NULL);

CREATE INDEX task_claimable ON public.task USING btree (tenant_id, task_type, hurried_at, priority
        DESC, since, id) WHERE (state = 'APPROVED'::text);

CREATE INDEX task_closed ON public.task USING btree (tenant_id, closed_at, id) WHERE (closed_at IS
        NOT NULL);

CREATE INDEX task_of_agent ON public.task USING btree (tenant_id, agent_id, id) WHERE (agent_id IS
        NOT NULL);

CREATE INDEX task_of_author ON public.task USING btree (tenant_id, author_id, id);

CREATE INDEX task_of_state ON public.task USING btree (tenant_id, state, id);

CREATE INDEX task_policy_pin_by_version ON public.task_policy_pin USING btree (tenant_id, policy_id,
        version);

CREATE INDEX task_resource_by_resource ON public.task_resource USING btree (tenant_id, resource,
        task_id);

CREATE INDEX task_resubmitted ON public.task USING btree (tenant_id, resubmits) WHERE (resubmits IS
        NOT NULL);

CREATE INDEX task_revision_of_level ON public.task_revision USING btree (tenant_id, level, task_id,
        revision);

CREATE INDEX task_revision_of_type ON public.task_revision USING btree (tenant_id, task_type,
        task_id, revision);

CREATE INDEX task_submitted ON public.task USING btree (tenant_id, submitted_at, id) WHERE
        (submitted_at IS NOT NULL);

CREATE INDEX task_submitted_by_author ON public.task USING btree (tenant_id, author_id,
        submitted_at) WHERE (submitted_at IS NOT NULL);

CREATE INDEX task_tag_by_tag ON public.task_tag USING btree (tenant_id, tag, task_id);

CREATE INDEX token_by_agent ON public.token USING btree (tenant_id, agent_id) WHERE (agent_id IS NOT
        NULL);

CREATE INDEX token_by_user ON public.token USING btree (tenant_id, user_id) WHERE (user_id IS NOT
        NULL);

CREATE INDEX token_ended ON public.token USING btree (tenant_id, LEAST(expires_at, revoked_at,
        used_at)) WHERE ((idle_until IS NULL) AND (LEAST(expires_at, revoked_at, used_at) IS NOT
        NULL));

CREATE UNIQUE INDEX token_key_id_names_one_tenant ON public.token USING btree (key_id);

CREATE INDEX user_alias_by_alias ON public.user_alias USING btree (tenant_id, alias_id);

CREATE INDEX user_role_by_role ON public.user_role USING btree (tenant_id, role);

CREATE INDEX vote_of_voter ON public.vote USING btree (tenant_id, voter_id, at);

CREATE INDEX webhook_circuit_open ON public.webhook_circuit USING btree (open_until) WHERE
        (open_until IS NOT NULL);

CREATE INDEX webhook_delivery_ended ON public.webhook_delivery USING btree (tenant_id, ended_at)
        WHERE (ended_at IS NOT NULL);

CREATE INDEX webhook_delivery_in_line ON public.webhook_delivery USING btree (tenant_id,
        endpoint_id, object, seq) WHERE (state = ANY (ARRAY['waiting'::text, 'pending'::text]));

CREATE INDEX webhook_delivery_next ON public.webhook_delivery USING btree (tenant_id, endpoint_id,
        next_at) WHERE ((state = 'pending'::text) AND (sending_until IS NULL));

CREATE INDEX webhook_delivery_of_endpoint ON public.webhook_delivery USING btree (tenant_id,
        endpoint_id, id);

CREATE INDEX webhook_delivery_open ON public.webhook_delivery USING btree (tenant_id, endpoint_id,
        queued_at) WHERE (state = ANY (ARRAY['waiting'::text, 'pending'::text]));

CREATE INDEX webhook_delivery_sending ON public.webhook_delivery USING btree (tenant_id,
        sending_until) WHERE (sending_until IS NOT NULL);

CREATE TRIGGER rulebook_sees_delete AFTER DELETE ON public.agent REFERENCING OLD TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_delete AFTER DELETE ON public.app_user REFERENCING OLD TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_delete AFTER DELETE ON public.delegation REFERENCING OLD TABLE AS
        changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_delete AFTER DELETE ON public.feature_flag REFERENCING OLD TABLE AS
        changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_delete AFTER DELETE ON public."freeze" REFERENCING OLD TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_delete AFTER DELETE ON public.policy REFERENCING OLD TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_delete AFTER DELETE ON public.policy_version REFERENCING OLD TABLE AS
        changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_delete AFTER DELETE ON public.risk_setting REFERENCING OLD TABLE AS
        changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_delete AFTER DELETE ON public.time_setting REFERENCING OLD TABLE AS
        changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_delete AFTER DELETE ON public.user_alias REFERENCING OLD TABLE AS
        changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_delete AFTER DELETE ON public.user_role REFERENCING OLD TABLE AS
        changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_insert AFTER INSERT ON public.agent REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_insert AFTER INSERT ON public.app_user REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_insert AFTER INSERT ON public.delegation REFERENCING NEW TABLE AS
        changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_insert AFTER INSERT ON public.feature_flag REFERENCING NEW TABLE AS
        changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_insert AFTER INSERT ON public."freeze" REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_insert AFTER INSERT ON public.policy REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_insert AFTER INSERT ON public.policy_version REFERENCING NEW TABLE AS
        changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_insert AFTER INSERT ON public.risk_setting REFERENCING NEW TABLE AS
        changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_insert AFTER INSERT ON public.time_setting REFERENCING NEW TABLE AS
        changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_insert AFTER INSERT ON public.user_alias REFERENCING NEW TABLE AS
        changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_insert AFTER INSERT ON public.user_role REFERENCING NEW TABLE AS
        changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_update AFTER UPDATE ON public.agent REFERENCING OLD TABLE AS former NEW
        TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_update AFTER UPDATE ON public.app_user REFERENCING OLD TABLE AS former
        NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_update AFTER UPDATE ON public.delegation REFERENCING OLD TABLE AS
        former NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_update AFTER UPDATE ON public.feature_flag REFERENCING OLD TABLE AS
        former NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_update AFTER UPDATE ON public."freeze" REFERENCING OLD TABLE AS former
        NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_update AFTER UPDATE ON public.policy REFERENCING OLD TABLE AS former
        NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_update AFTER UPDATE ON public.policy_version REFERENCING OLD TABLE AS
        former NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_update AFTER UPDATE ON public.risk_setting REFERENCING OLD TABLE AS
        former NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_update AFTER UPDATE ON public.tenant REFERENCING OLD TABLE AS former
        NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_update AFTER UPDATE ON public.time_setting REFERENCING OLD TABLE AS
        former NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_update AFTER UPDATE ON public.user_alias REFERENCING OLD TABLE AS
        former NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER rulebook_sees_update AFTER UPDATE ON public.user_role REFERENCING OLD TABLE AS former
        NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.bump_rulebook();

CREATE TRIGGER second_tenant_is_noticed AFTER INSERT ON public.tenant FOR EACH ROW EXECUTE FUNCTION
        public.notice_second_tenant();

CREATE TRIGGER tenant_setup_ends_once BEFORE UPDATE OF setup_ended_at ON public.tenant FOR EACH ROW
        WHEN ((old.setup_ended_at IS NOT NULL)) EXECUTE FUNCTION public.refuse_second_setup();

CREATE TRIGGER token_two_open_at_most BEFORE INSERT ON public.token FOR EACH ROW EXECUTE FUNCTION
        public.token_two_open_at_most();

CREATE TRIGGER vote_is_not_of_the_involved BEFORE INSERT ON public.vote FOR EACH ROW EXECUTE
        FUNCTION public.vote_is_not_of_the_involved();

ALTER TABLE ONLY public.after_review
    ADD CONSTRAINT after_review_reviewer_exists FOREIGN KEY (tenant_id, done_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.after_review
    ADD CONSTRAINT after_review_task_exists FOREIGN KEY (tenant_id, task_id) REFERENCES
        public.task(tenant_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.agent_config_version
    ADD CONSTRAINT agent_config_version_agent_exists FOREIGN KEY (tenant_id, agent_id) REFERENCES
        public.agent(tenant_id, id);

ALTER TABLE ONLY public.agent_config_version
    ADD CONSTRAINT agent_config_version_author_exists FOREIGN KEY (tenant_id, set_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.agent
    ADD CONSTRAINT agent_owner_exists FOREIGN KEY (tenant_id, owner_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.agent_session
    ADD CONSTRAINT agent_session_agent_exists FOREIGN KEY (tenant_id, agent_id) REFERENCES
        public.agent(tenant_id, id);

ALTER TABLE ONLY public.agent_session
    ADD CONSTRAINT agent_session_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.app_user
    ADD CONSTRAINT app_user_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.app_user
    ADD CONSTRAINT app_user_manager_exists FOREIGN KEY (tenant_id, manager_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.approval
    ADD CONSTRAINT approval_reviewer_exists FOREIGN KEY (tenant_id, reviewer_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.approval
    ADD CONSTRAINT approval_task_exists FOREIGN KEY (tenant_id, task_id) REFERENCES
        public.task(tenant_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.comment
    ADD CONSTRAINT comment_task_exists FOREIGN KEY (tenant_id, task_id) REFERENCES
        public.task(tenant_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.consumer_cursor
    ADD CONSTRAINT consumer_cursor_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.consumer_trouble
    ADD CONSTRAINT consumer_trouble_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.daily_count
    ADD CONSTRAINT daily_count_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.dead_event
    ADD CONSTRAINT dead_event_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.delegation
    ADD CONSTRAINT delegation_delegate_exists FOREIGN KEY (tenant_id, delegate_to) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.delegation
    ADD CONSTRAINT delegation_owner_exists FOREIGN KEY (tenant_id, owner_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.event_head
    ADD CONSTRAINT event_head_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.event_rate
    ADD CONSTRAINT event_rate_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.execution_line
    ADD CONSTRAINT execution_line_execution_exists FOREIGN KEY (tenant_id, execution_id) REFERENCES
        public.execution(tenant_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.execution
    ADD CONSTRAINT execution_revision_exists FOREIGN KEY (tenant_id, task_id, revision) REFERENCES
        public.task_revision(tenant_id, task_id, revision) ON DELETE CASCADE;

ALTER TABLE ONLY public.export_batch
    ADD CONSTRAINT export_batch_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.failure_history
    ADD CONSTRAINT failure_history_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.feature_flag
    ADD CONSTRAINT feature_flag_setter_exists FOREIGN KEY (tenant_id, set_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public."freeze"
    ADD CONSTRAINT freeze_lifter_exists FOREIGN KEY (tenant_id, lifted_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public."freeze"
    ADD CONSTRAINT freeze_setter_exists FOREIGN KEY (tenant_id, set_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.group_role
    ADD CONSTRAINT group_role_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.inbound_minute
    ADD CONSTRAINT inbound_minute_is_of_a_source FOREIGN KEY (tenant_id, source_id) REFERENCES
        public.inbound_source(tenant_id, id);

ALTER TABLE ONLY public.inbound_source
    ADD CONSTRAINT inbound_source_agent_exists FOREIGN KEY (tenant_id, agent_id) REFERENCES
        public.agent(tenant_id, id);

ALTER TABLE ONLY public.inbound_source
    ADD CONSTRAINT inbound_source_is_of_a_person FOREIGN KEY (tenant_id, created_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.invitation
    ADD CONSTRAINT invitation_is_of_a_user FOREIGN KEY (tenant_id, user_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.live_ticket
    ADD CONSTRAINT live_ticket_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.lock_deadlock
    ADD CONSTRAINT lock_deadlock_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.lock_epoch
    ADD CONSTRAINT lock_epoch_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.lock_fence
    ADD CONSTRAINT lock_fence_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.lock_hold
    ADD CONSTRAINT lock_hold_resource_has_a_fence FOREIGN KEY (tenant_id, resource) REFERENCES
        public.lock_fence(tenant_id, resource);

ALTER TABLE ONLY public.lock_hold
    ADD CONSTRAINT lock_hold_session_exists FOREIGN KEY (tenant_id, session_id) REFERENCES
        public.agent_session(tenant_id, id);

ALTER TABLE ONLY public.lock_rate
    ADD CONSTRAINT lock_rate_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.lock_wait
    ADD CONSTRAINT lock_wait_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.message_channel
    ADD CONSTRAINT message_channel_is_of_a_person FOREIGN KEY (tenant_id, user_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.message_item
    ADD CONSTRAINT message_item_is_for_a_person FOREIGN KEY (tenant_id, user_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.message_item
    ADD CONSTRAINT message_item_task_exists FOREIGN KEY (tenant_id, task_id) REFERENCES
        public.task(tenant_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.notification
    ADD CONSTRAINT notification_is_for_a_person FOREIGN KEY (tenant_id, user_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.notification_preference
    ADD CONSTRAINT notification_preference_is_of_a_person FOREIGN KEY (tenant_id, user_id)
        REFERENCES public.app_user(tenant_id, id);

ALTER TABLE ONLY public.notification
    ADD CONSTRAINT notification_task_exists FOREIGN KEY (tenant_id, task_id) REFERENCES
        public.task(tenant_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.on_call
    ADD CONSTRAINT on_call_is_a_person FOREIGN KEY (tenant_id, user_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.on_call
    ADD CONSTRAINT on_call_is_set_by_a_person FOREIGN KEY (tenant_id, set_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.override
    ADD CONSTRAINT override_asker_exists FOREIGN KEY (tenant_id, asked_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.override
    ADD CONSTRAINT override_confirmer_exists FOREIGN KEY (tenant_id, confirmed_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.override
    ADD CONSTRAINT override_revision_exists FOREIGN KEY (tenant_id, task_id, revision) REFERENCES
        public.task_revision(tenant_id, task_id, revision) ON DELETE CASCADE;

ALTER TABLE ONLY public.passkey
    ADD CONSTRAINT passkey_is_of_a_user FOREIGN KEY (tenant_id, user_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.passkey_offer
    ADD CONSTRAINT passkey_offer_is_of_a_user FOREIGN KEY (tenant_id, user_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.pending_change
    ADD CONSTRAINT pending_change_closer_exists FOREIGN KEY (tenant_id, closed_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.pending_change
    ADD CONSTRAINT pending_change_proposer_exists FOREIGN KEY (tenant_id, proposed_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.policy
    ADD CONSTRAINT policy_current_version_exists FOREIGN KEY (tenant_id, id, current_version)
        REFERENCES public.policy_version(tenant_id, policy_id, version);

ALTER TABLE ONLY public.policy_draft
    ADD CONSTRAINT policy_draft_closer_exists FOREIGN KEY (tenant_id, closed_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.policy_draft
    ADD CONSTRAINT policy_draft_proposer_exists FOREIGN KEY (tenant_id, proposed_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.policy
    ADD CONSTRAINT policy_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.policy_version
    ADD CONSTRAINT policy_version_confirmer_exists FOREIGN KEY (tenant_id, confirmed_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.policy_version
    ADD CONSTRAINT policy_version_policy_exists FOREIGN KEY (tenant_id, policy_id) REFERENCES
        public.policy(tenant_id, id);

ALTER TABLE ONLY public.policy_version
    ADD CONSTRAINT policy_version_proposer_exists FOREIGN KEY (tenant_id, proposed_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.resource_dependency
    ADD CONSTRAINT resource_dependency_dependent_exists FOREIGN KEY (tenant_id, dependent)
        REFERENCES public.resource(tenant_id, name);

ALTER TABLE ONLY public.resource_dependency
    ADD CONSTRAINT resource_dependency_resource_exists FOREIGN KEY (tenant_id, resource) REFERENCES
        public.resource(tenant_id, name);

ALTER TABLE ONLY public.resource
    ADD CONSTRAINT resource_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.resource
    ADD CONSTRAINT resource_owner_exists FOREIGN KEY (tenant_id, owner_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.risk_assessment
    ADD CONSTRAINT risk_assessment_revision_exists FOREIGN KEY (tenant_id, task_id, revision)
        REFERENCES public.task_revision(tenant_id, task_id, revision) ON DELETE CASCADE;

ALTER TABLE ONLY public.risk_setting
    ADD CONSTRAINT risk_setting_setter_exists FOREIGN KEY (tenant_id, set_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.rulebook
    ADD CONSTRAINT rulebook_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.scheduled_job
    ADD CONSTRAINT scheduled_job_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.step_up
    ADD CONSTRAINT step_up_is_given_by_a_passkey FOREIGN KEY (tenant_id, passkey_id) REFERENCES
        public.passkey(tenant_id, id);

ALTER TABLE ONLY public.step_up
    ADD CONSTRAINT step_up_is_of_a_user FOREIGN KEY (tenant_id, user_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.tally_cursor
    ADD CONSTRAINT tally_cursor_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.task
    ADD CONSTRAINT task_agent_exists FOREIGN KEY (tenant_id, agent_id) REFERENCES
        public.agent(tenant_id, id);

ALTER TABLE ONLY public.task
    ADD CONSTRAINT task_author_exists FOREIGN KEY (tenant_id, author_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.task_number
    ADD CONSTRAINT task_number_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES
        public.tenant(tenant_id);

ALTER TABLE ONLY public.task_policy_pin
    ADD CONSTRAINT task_policy_pin_task_exists FOREIGN KEY (tenant_id, task_id) REFERENCES
        public.task(tenant_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.task_policy_pin
    ADD CONSTRAINT task_policy_pin_version_exists FOREIGN KEY (tenant_id, policy_id, version)
        REFERENCES public.policy_version(tenant_id, policy_id, version);

ALTER TABLE ONLY public.task_resource
    ADD CONSTRAINT task_resource_revision_exists FOREIGN KEY (tenant_id, task_id, revision)
        REFERENCES public.task_revision(tenant_id, task_id, revision) ON DELETE CASCADE;

ALTER TABLE ONLY public.task
    ADD CONSTRAINT task_resubmitted_exists FOREIGN KEY (tenant_id, resubmits) REFERENCES
        public.task(tenant_id, id);

ALTER TABLE ONLY public.task_revision
    ADD CONSTRAINT task_revision_task_exists FOREIGN KEY (tenant_id, task_id) REFERENCES
        public.task(tenant_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY public.task
    ADD CONSTRAINT task_submitter_exists FOREIGN KEY (tenant_id, submitter_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.task_tag
    ADD CONSTRAINT task_tag_revision_exists FOREIGN KEY (tenant_id, task_id, revision) REFERENCES
        public.task_revision(tenant_id, task_id, revision) ON DELETE CASCADE;

ALTER TABLE ONLY public.time_setting
    ADD CONSTRAINT time_setting_setter_exists FOREIGN KEY (tenant_id, set_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_agent_exists FOREIGN KEY (tenant_id, agent_id) REFERENCES
        public.agent(tenant_id, id);

ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.user_alias
    ADD CONSTRAINT user_alias_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.user_role
    ADD CONSTRAINT user_role_user_exists FOREIGN KEY (tenant_id, user_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.vote
    ADD CONSTRAINT vote_revision_exists FOREIGN KEY (tenant_id, task_id, revision) REFERENCES
        public.task_revision(tenant_id, task_id, revision) ON DELETE CASCADE;

ALTER TABLE ONLY public.vote
    ADD CONSTRAINT vote_voter_exists FOREIGN KEY (tenant_id, voter_id) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE ONLY public.vote_withdrawal
    ADD CONSTRAINT vote_withdrawal_vote_exists FOREIGN KEY (tenant_id, task_id, vote_seq) REFERENCES
        public.vote(tenant_id, task_id, seq) ON DELETE CASCADE;

ALTER TABLE ONLY public.webhook_circuit
    ADD CONSTRAINT webhook_circuit_is_of_an_endpoint FOREIGN KEY (tenant_id, endpoint_id) REFERENCES
        public.webhook_endpoint(tenant_id, id);

ALTER TABLE ONLY public.webhook_delivery
    ADD CONSTRAINT webhook_delivery_is_for_an_endpoint FOREIGN KEY (tenant_id, endpoint_id)
        REFERENCES public.webhook_endpoint(tenant_id, id);

ALTER TABLE ONLY public.webhook_endpoint
    ADD CONSTRAINT webhook_endpoint_is_of_a_person FOREIGN KEY (tenant_id, created_by) REFERENCES
        public.app_user(tenant_id, id);

ALTER TABLE public.after_review ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.agent ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.agent_config_version ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.agent_session ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.app_user ENABLE ROW LEVEL SECURITY;

CREATE POLICY application_reads ON public.worker_lease FOR SELECT TO ade_app USING (true);

ALTER TABLE public.approval ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.audit_entry ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.comment ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.consumer_cursor ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.consumer_trouble ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.daily_count ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.dead_event ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.delegation ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.device_login ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.event_head ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.event_rate ENABLE ROW LEVEL SECURITY;

CREATE POLICY everybody_sees ON public.installation_freeze FOR SELECT TO ade_app USING (true);

ALTER TABLE public.execution ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.execution_line ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.export_batch ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.failure_history ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.feature_flag ENABLE ROW LEVEL SECURITY;

ALTER TABLE public."freeze" ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.group_role ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.idempotency ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.inbound_minute ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.inbound_source ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.installation_freeze ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.invitation ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.live_ticket ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.lock_deadlock ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.lock_epoch ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.lock_fence ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.lock_hold ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.lock_rate ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.lock_wait ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.message_channel ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.message_item ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.notification ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.notification_preference ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.on_call ENABLE ROW LEVEL SECURITY;

CREATE POLICY open_is_not_deleted ON public.token AS RESTRICTIVE FOR DELETE USING
        ((LEAST(expires_at, revoked_at, used_at) <= public.moment()));

ALTER TABLE public.outbox ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.override ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_tenant ON public.after_review USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.agent USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.agent_config_version USING ((tenant_id =
        public.current_tenant())) WITH CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.agent_session USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.app_user USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.approval USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.audit_entry USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.comment USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.consumer_cursor USING ((tenant_id = public.current_tenant()))
        WITH CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.consumer_trouble USING ((tenant_id = public.current_tenant()))
        WITH CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.daily_count USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.dead_event USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.delegation USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.event_head USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.event_rate USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.execution USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.execution_line USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.export_batch USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.failure_history USING ((tenant_id = public.current_tenant()))
        WITH CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.feature_flag USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public."freeze" USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.group_role USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.idempotency USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.inbound_minute USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.inbound_source USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.invitation USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.live_ticket USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.lock_deadlock USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.lock_epoch USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.lock_fence USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.lock_hold USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.lock_rate USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.lock_wait USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.message_channel USING ((tenant_id = public.current_tenant()))
        WITH CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.message_item USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.notification USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.notification_preference USING ((tenant_id =
        public.current_tenant())) WITH CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.on_call USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.outbox USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.override USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.passkey USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.passkey_offer USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.pending_change USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.policy USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.policy_draft USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.policy_version USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.resource USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.resource_dependency USING ((tenant_id = public.current_tenant()))
        WITH CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.risk_assessment USING ((tenant_id = public.current_tenant()))
        WITH CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.risk_setting USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.rulebook USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.scheduled_job USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.step_up USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.tally_cursor USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.task USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.task_number USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.task_policy_pin USING ((tenant_id = public.current_tenant()))
        WITH CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.task_resource USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.task_revision USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.task_tag USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.tenant USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.time_setting USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.token USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.user_alias USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.user_role USING ((tenant_id = public.current_tenant())) WITH
        CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.vote USING ((tenant_id = public.current_tenant())) WITH CHECK
        ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.vote_withdrawal USING ((tenant_id = public.current_tenant()))
        WITH CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.webhook_circuit USING ((tenant_id = public.current_tenant()))
        WITH CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.webhook_delivery USING ((tenant_id = public.current_tenant()))
        WITH CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY own_tenant ON public.webhook_endpoint USING ((tenant_id = public.current_tenant()))
        WITH CHECK ((tenant_id = public.current_tenant()));

CREATE POLICY owner_admits ON public.app_user FOR SELECT TO ade USING (true);

CREATE POLICY owner_admits ON public.group_role FOR SELECT TO ade USING (true);

CREATE POLICY owner_admits ON public.tenant FOR SELECT TO ade USING (true);

CREATE POLICY owner_compares ON public.rulebook FOR SELECT TO ade USING (true);

CREATE POLICY owner_consumes ON public.token FOR UPDATE TO ade USING (true) WITH CHECK (true);

CREATE POLICY owner_counts ON public.after_review FOR SELECT TO ade USING (true);

CREATE POLICY owner_counts ON public.webhook_circuit FOR SELECT TO ade USING (true);

CREATE POLICY owner_counts ON public.webhook_endpoint FOR SELECT TO ade USING (true);

CREATE POLICY owner_keeps ON public.device_login TO ade USING (true) WITH CHECK (true);

CREATE POLICY owner_keeps ON public.installation_freeze TO ade USING (true) WITH CHECK (true);

CREATE POLICY owner_keeps ON public.sign_in TO ade USING (true) WITH CHECK (true);

CREATE POLICY owner_lists ON public.tenant FOR SELECT TO ade USING (true);

CREATE POLICY owner_lists_spaces ON public.lock_epoch FOR SELECT TO ade USING (true);

CREATE POLICY owner_looks_for_expired ON public.idempotency FOR SELECT TO ade USING (true);

CREATE POLICY owner_looks_for_news ON public.audit_entry FOR SELECT TO ade USING (true);

CREATE POLICY owner_looks_for_news ON public.tally_cursor FOR SELECT TO ade USING (true);

CREATE POLICY owner_looks_for_old ON public.webhook_delivery FOR SELECT TO ade USING (true);

CREATE POLICY owner_notices ON public.rulebook FOR UPDATE TO ade USING (true) WITH CHECK (true);

CREATE POLICY owner_numbers ON public.event_head TO ade USING (true) WITH CHECK (true);

CREATE POLICY owner_numbers ON public.outbox TO ade USING (true) WITH CHECK (true);

CREATE POLICY owner_passes_over ON public.consumer_cursor TO ade USING (true) WITH CHECK (true);

CREATE POLICY owner_resolves ON public.invitation FOR SELECT TO ade USING (true);

CREATE POLICY owner_resolves ON public.token FOR SELECT TO ade USING (true);

ALTER TABLE public.passkey ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.passkey_offer ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.pending_change ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.policy ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.policy_draft ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.policy_version ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.resource ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.resource_dependency ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.risk_assessment ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.risk_setting ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.rulebook ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.scheduled_job ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.sign_in ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.step_up ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.tally_cursor ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.task ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.task_number ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.task_policy_pin ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.task_resource ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.task_revision ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.task_tag ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.tenant ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.time_setting ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.token ENABLE ROW LEVEL SECURITY;

CREATE POLICY used_is_not_changed ON public.step_up AS RESTRICTIVE FOR UPDATE USING
        ((num_nulls(used_at) = 1)) WITH CHECK (true);

CREATE POLICY used_is_not_deleted ON public.step_up AS RESTRICTIVE FOR DELETE USING
        ((num_nulls(used_at) = 1));

ALTER TABLE public.user_alias ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.user_role ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.vote ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.vote_withdrawal ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.webhook_circuit ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.webhook_delivery ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.webhook_endpoint ENABLE ROW LEVEL SECURITY;

ALTER TABLE public.worker_lease ENABLE ROW LEVEL SECURITY;

CREATE POLICY worker_reads ON public.consumer_cursor FOR SELECT TO ade_worker USING (true);

CREATE POLICY worker_reads ON public.event_head FOR SELECT TO ade_worker USING (true);

CREATE POLICY worker_reads ON public.outbox FOR SELECT TO ade_worker USING (true);

CREATE POLICY worker_reads ON public.scheduled_job FOR SELECT TO ade_worker USING (true);

CREATE POLICY workers_only ON public.worker_lease TO ade_worker USING (true) WITH CHECK (true);

GRANT USAGE ON SCHEMA public TO ade_app;
GRANT USAGE ON SCHEMA public TO ade_worker;

REVOKE ALL ON FUNCTION public.begin_device_login(new_hash bytea, new_code text, new_client text,
        new_address text, new_user_agent text, valid_for interval, new_pace integer, most integer)
        FROM PUBLIC;
GRANT ALL ON FUNCTION public.begin_device_login(new_hash bytea, new_code text, new_client text,
        new_address text, new_user_agent text, valid_for interval, new_pace integer, most integer)
        TO ade_app;

REVOKE ALL ON FUNCTION public.begin_sign_in(hash bytea, provider text, nonce text, verifier text,
        return_to text, valid_for interval) FROM PUBLIC;
GRANT ALL ON FUNCTION public.begin_sign_in(hash bytea, provider text, nonce text, verifier text,
        return_to text, valid_for interval) TO ade_app;

REVOKE ALL ON FUNCTION public.bump_rulebook() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.consume_token(wanted text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.consume_token(wanted text) TO ade_app;

REVOKE ALL ON FUNCTION public.decide_device_login(wanted text, by_user uuid, is_yes boolean, given
        text[], valid_days integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.decide_device_login(wanted text, by_user uuid, is_yes boolean, given
        text[], valid_days integer) TO ade_app;

REVOKE ALL ON FUNCTION public.drop_read_events(kept interval, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.drop_read_events(kept interval, most integer) TO ade_worker;

REVOKE ALL ON FUNCTION public.end_sign_in(wanted bytea, OUT provider text, OUT nonce text, OUT
        verifier text, OUT return_to text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.end_sign_in(wanted bytea, OUT provider text, OUT nonce text, OUT
        verifier text, OUT return_to text) TO ade_app;

REVOKE ALL ON FUNCTION public.events_waiting(most integer, OUT waiting bigint, OUT oldest timestamp
        with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION public.events_waiting(most integer, OUT waiting bigint, OUT oldest timestamp
        with time zone) TO ade_app;
GRANT ALL ON FUNCTION public.events_waiting(most integer, OUT waiting bigint, OUT oldest timestamp
        with time zone) TO ade_worker;

REVOKE ALL ON FUNCTION public.find_device_login(wanted text, OUT client text, OUT address text, OUT
        user_agent text, OUT created_at timestamp with time zone, OUT expires_at timestamp with time
        zone, OUT approved boolean, OUT tenant_id uuid, OUT user_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.find_device_login(wanted text, OUT client text, OUT address text, OUT
        user_agent text, OUT created_at timestamp with time zone, OUT expires_at timestamp with time
        zone, OUT approved boolean, OUT tenant_id uuid, OUT user_id uuid) TO ade_app;

REVOKE ALL ON FUNCTION public.has_several_tenants() FROM PUBLIC;
GRANT ALL ON FUNCTION public.has_several_tenants() TO ade_app;

REVOKE ALL ON FUNCTION public.keep_in_rulebook(target regclass) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.keep_session(wanted text, idle interval, pace interval) FROM PUBLIC;
GRANT ALL ON FUNCTION public.keep_session(wanted text, idle interval, pace interval) TO ade_app;

REVOKE ALL ON FUNCTION public.keep_to_tenant(target regclass) FROM PUBLIC;

REVOKE ALL ON FUNCTION public.make_partitions(ahead interval, since timestamp with time zone) FROM
        PUBLIC;
GRANT ALL ON FUNCTION public.make_partitions(ahead interval, since timestamp with time zone) TO
        ade_worker;

REVOKE ALL ON FUNCTION public.note_token_use(wanted text, pace interval) FROM PUBLIC;
GRANT ALL ON FUNCTION public.note_token_use(wanted text, pace interval) TO ade_app;

REVOKE ALL ON FUNCTION public.notice_second_tenant() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.number_events(wanted integer[], shards integer, most integer) FROM
        PUBLIC;
GRANT ALL ON FUNCTION public.number_events(wanted integer[], shards integer, most integer) TO
        ade_worker;

REVOKE ALL ON FUNCTION public.open_tokens(wanted text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.open_tokens(wanted text[]) TO ade_app;
GRANT ALL ON FUNCTION public.open_tokens(wanted text[]) TO ade_worker;

REVOKE ALL ON FUNCTION public.open_webhook_circuits() FROM PUBLIC;
GRANT ALL ON FUNCTION public.open_webhook_circuits() TO ade_worker;

REVOKE ALL ON FUNCTION public.overdue_after_reviews() FROM PUBLIC;
GRANT ALL ON FUNCTION public.overdue_after_reviews() TO ade_app;
GRANT ALL ON FUNCTION public.overdue_after_reviews() TO ade_worker;

REVOKE ALL ON FUNCTION public.pass_over_unheard(reader text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.pass_over_unheard(reader text, most integer) TO ade_worker;

REVOKE ALL ON FUNCTION public.poll_device_login(wanted bytea, slower integer, OUT outcome text, OUT
        pace integer, OUT tenant_id uuid, OUT user_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.poll_device_login(wanted bytea, slower integer, OUT outcome text, OUT
        pace integer, OUT tenant_id uuid, OUT user_id uuid) TO ade_app;

REVOKE ALL ON FUNCTION public.reached_by_role(wanted text, moment timestamp with time zone) FROM
        PUBLIC;
GRANT ALL ON FUNCTION public.reached_by_role(wanted text, moment timestamp with time zone) TO
        ade_app;

REVOKE ALL ON FUNCTION public.refuse_second_setup() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.resolve_invitation(wanted text, OUT tenant_id uuid, OUT user_id uuid,
        OUT secret_hash bytea, OUT is_live boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION public.resolve_invitation(wanted text, OUT tenant_id uuid, OUT user_id uuid,
        OUT secret_hash bytea, OUT is_live boolean) TO ade_app;

REVOKE ALL ON FUNCTION public.resolve_token(wanted text, pace interval, OUT tenant_id uuid, OUT
        principal_kind text, OUT principal_id uuid, OUT owner_id uuid, OUT secret_hash bytea, OUT
        scopes text[], OUT expires_at timestamp with time zone, OUT revoked_at timestamp with time
        zone, OUT single_use boolean, OUT is_session boolean, OUT networks text[], OUT noted_at
        timestamp with time zone, OUT is_live boolean, OUT issued_by uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.resolve_token(wanted text, pace interval, OUT tenant_id uuid, OUT
        principal_kind text, OUT principal_id uuid, OUT owner_id uuid, OUT secret_hash bytea, OUT
        scopes text[], OUT expires_at timestamp with time zone, OUT revoked_at timestamp with time
        zone, OUT single_use boolean, OUT is_session boolean, OUT networks text[], OUT noted_at
        timestamp with time zone, OUT is_live boolean, OUT issued_by uuid) TO ade_app;

REVOKE ALL ON FUNCTION public.rulebook_versions(wanted uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.rulebook_versions(wanted uuid[]) TO ade_app;
GRANT ALL ON FUNCTION public.rulebook_versions(wanted uuid[]) TO ade_worker;

REVOKE ALL ON FUNCTION public.take_device_login(wanted bytea, OUT client text, OUT scopes text[],
        OUT days integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.take_device_login(wanted bytea, OUT client text, OUT scopes text[], OUT
        days integer) TO ade_app;

REVOKE ALL ON FUNCTION public.tenants_of_subject(wanted_issuer text, wanted_subject text, groups
        text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION public.tenants_of_subject(wanted_issuer text, wanted_subject text, groups
        text[]) TO ade_app;

REVOKE ALL ON FUNCTION public.tenants_to_tell(reader text, after uuid, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.tenants_to_tell(reader text, after uuid, most integer) TO ade_worker;

REVOKE ALL ON FUNCTION public.tenants_with_expired_answers(until timestamp with time zone, after
        uuid, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.tenants_with_expired_answers(until timestamp with time zone, after
        uuid, most integer) TO ade_worker;

REVOKE ALL ON FUNCTION public.tenants_with_locks(after uuid, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.tenants_with_locks(after uuid, most integer) TO ade_worker;

REVOKE ALL ON FUNCTION public.tenants_with_news(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.tenants_with_news(most integer) TO ade_worker;

REVOKE ALL ON FUNCTION public.tenants_with_old_deliveries(until timestamp with time zone, most
        integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.tenants_with_old_deliveries(until timestamp with time zone, most
        integer) TO ade_worker;

REVOKE ALL ON FUNCTION public.tenants_with_old_tokens(tokens_until timestamp with time zone,
        sessions_until timestamp with time zone, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.tenants_with_old_tokens(tokens_until timestamp with time zone,
        sessions_until timestamp with time zone, most integer) TO ade_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.token TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.after_review TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.agent TO ade_app;

GRANT SELECT,INSERT ON TABLE public.agent_config_version TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.agent_session TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.app_user TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.approval TO ade_app;

GRANT SELECT,INSERT ON TABLE public.audit_entry TO ade_app;

GRANT SELECT,INSERT ON TABLE public.comment TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.consumer_cursor TO ade_app;
GRANT SELECT ON TABLE public.consumer_cursor TO ade_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.consumer_trouble TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.daily_count TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.dead_event TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.delegation TO ade_app;

GRANT SELECT ON TABLE public.event_head TO ade_app;
GRANT SELECT ON TABLE public.event_head TO ade_worker;

GRANT SELECT,INSERT,UPDATE ON TABLE public.event_rate TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.execution TO ade_app;

GRANT SELECT,INSERT,DELETE ON TABLE public.execution_line TO ade_app;

GRANT SELECT,INSERT ON TABLE public.export_batch TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.failure_history TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.feature_flag TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public."freeze" TO ade_app;

GRANT SELECT,INSERT,DELETE ON TABLE public.group_role TO ade_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.idempotency TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.inbound_minute TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.inbound_source TO ade_app;

GRANT SELECT ON TABLE public.installation_freeze TO ade_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.invitation TO ade_app;

GRANT SELECT,INSERT,DELETE ON TABLE public.live_ticket TO ade_app;

GRANT SELECT,INSERT ON TABLE public.lock_deadlock TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.lock_epoch TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.lock_fence TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.lock_hold TO ade_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.lock_rate TO ade_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.lock_wait TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.message_channel TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.message_item TO ade_app;

GRANT SELECT,INSERT ON TABLE public.notification TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.notification_preference TO ade_app;

GRANT SELECT,INSERT,DELETE ON TABLE public.on_call TO ade_app;

GRANT SELECT,INSERT ON TABLE public.outbox TO ade_app;
GRANT SELECT ON TABLE public.outbox TO ade_worker;

GRANT SELECT,INSERT,UPDATE ON TABLE public.override TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.passkey TO ade_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.passkey_offer TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.pending_change TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.policy TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.policy_draft TO ade_app;

GRANT SELECT,INSERT ON TABLE public.policy_version TO ade_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.resource TO ade_app;

GRANT SELECT,INSERT,DELETE ON TABLE public.resource_dependency TO ade_app;

GRANT SELECT,INSERT ON TABLE public.risk_assessment TO ade_app;

GRANT SELECT,INSERT ON TABLE public.risk_setting TO ade_app;

GRANT SELECT ON TABLE public.rulebook TO ade_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.scheduled_job TO ade_app;
GRANT SELECT ON TABLE public.scheduled_job TO ade_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.step_up TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.tally_cursor TO ade_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.task TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.task_number TO ade_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.task_policy_pin TO ade_app;

GRANT SELECT,INSERT ON TABLE public.task_resource TO ade_app;

GRANT SELECT,INSERT ON TABLE public.task_revision TO ade_app;

GRANT SELECT,INSERT ON TABLE public.task_tag TO ade_app;

GRANT SELECT ON TABLE public.tenant TO ade_app;

GRANT UPDATE(setup_ended_at) ON TABLE public.tenant TO ade_app;

GRANT SELECT,INSERT ON TABLE public.time_setting TO ade_app;

GRANT SELECT,INSERT,DELETE ON TABLE public.user_alias TO ade_app;

GRANT UPDATE(until_confirmed) ON TABLE public.user_alias TO ade_app;

GRANT SELECT,INSERT,DELETE ON TABLE public.user_role TO ade_app;

GRANT SELECT,INSERT ON TABLE public.vote TO ade_app;

GRANT SELECT,INSERT ON TABLE public.vote_withdrawal TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.webhook_circuit TO ade_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.webhook_delivery TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.webhook_endpoint TO ade_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.worker_lease TO ade_worker;
GRANT SELECT ON TABLE public.worker_lease TO ade_app;
