-- why: an approved task is applied by whoever claims it, and what came of each attempt is kept

ALTER TABLE task
    ADD COLUMN timeout_seconds integer NOT NULL DEFAULT 3600,
    ADD COLUMN rollback text NOT NULL DEFAULT 'none',
    ADD COLUMN rollback_steps text,
    ADD CONSTRAINT task_timeout_is_bounded CHECK (timeout_seconds BETWEEN 1 AND 86400),
    ADD CONSTRAINT task_rollback_is_known CHECK (rollback IN ('automatic', 'manual', 'none')),
    ADD CONSTRAINT task_manual_rollback_has_steps CHECK (
        (rollback = 'manual') = (rollback_steps IS NOT NULL)),
    ADD CONSTRAINT task_rollback_steps_are_short CHECK (
        octet_length(rollback_steps) BETWEEN 1 AND 4096);

-- A claimer knows which types it may run, and there are few types: the next of each is found
-- without reading what others would run.
DROP INDEX task_claimable;
CREATE INDEX task_claimable
    ON task (tenant_id, task_type, hurried_at, priority DESC, since, id) WHERE state = 'APPROVED';

ALTER TABLE execution
    ADD COLUMN attempt integer NOT NULL DEFAULT 1,
    ADD COLUMN result text,
    ADD COLUMN left_behind text,
    ADD COLUMN error text,
    ADD COLUMN output text,
    ADD COLUMN output_key text,
    ADD COLUMN details json,
    ADD COLUMN log_lines bigint NOT NULL DEFAULT 0,
    ADD COLUMN log_bytes bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT execution_is_found_by_id UNIQUE (tenant_id, id),
    ADD CONSTRAINT execution_result_is_known CHECK (result IN (
        'success', 'failure', 'timeout', 'cancelled', 'unknown', 'drifted', 'lost')),
    ADD CONSTRAINT execution_left_is_known CHECK (
        left_behind IN ('nothing', 'rolled_back', 'changed')),
    ADD CONSTRAINT execution_error_is_short CHECK (octet_length(error) <= 4096),
    ADD CONSTRAINT execution_output_is_short CHECK (octet_length(output) <= 65536),
    ADD CONSTRAINT execution_counts_are_natural CHECK (
        attempt >= 1 AND log_lines >= 0 AND log_bytes >= 0);

-- What an attempt says while it runs. Sent again it is kept once: a line has a number.
CREATE TABLE execution_line (
    tenant_id uuid NOT NULL,
    execution_id uuid NOT NULL,
    number bigint NOT NULL,
    stream text NOT NULL,
    line text NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT execution_line_pkey PRIMARY KEY (tenant_id, execution_id, number),
    CONSTRAINT execution_line_execution_exists FOREIGN KEY (tenant_id, execution_id)
        REFERENCES execution (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT execution_line_stream_is_known CHECK (stream IN ('stdout', 'stderr', 'note')),
    CONSTRAINT execution_line_is_short CHECK (octet_length(line) <= 8192),
    CONSTRAINT execution_line_number_is_natural CHECK (number >= 0)
);
SELECT keep_to_tenant('execution_line');
GRANT SELECT, INSERT, DELETE ON execution_line TO ade_app;

-- Something may have been changed under this hold. Silence does not end it: nobody else gets its
-- resource before somebody knows what happened.
ALTER TABLE lock_hold ADD COLUMN is_begun boolean NOT NULL DEFAULT false;

CREATE OR REPLACE FUNCTION lock_make_room(target text, lease uuid, wanted text, room integer)
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

CREATE OR REPLACE FUNCTION lock_fence_off(leases uuid[], by_lease uuid, only_dead boolean)
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
           AND NOT (only_dead
                    AND (h.is_begun OR h.deadline + h.lock_delay > clock_timestamp()))
        RETURNING h.lease_id)
    SELECT DISTINCT e.lease_id FROM ended e;
END
$$;

-- The permit's own registration. Without a token from the queue one is made here, above all that
-- these resources have seen. A session of the attempt alone begins with it.
CREATE FUNCTION apply_register(
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
        INSERT INTO public.lock_fence (tenant_id, resource)
        SELECT tenant, wanted FROM unnest(resources) AS wanted
        ON CONFLICT ON CONSTRAINT lock_fence_pkey DO NOTHING;
        PERFORM FROM public.lock_fence f
          WHERE f.tenant_id = tenant AND f.resource = ANY (resources)
          ORDER BY f.resource FOR UPDATE;
        SELECT greatest(floor, max(f.max_token)) + 1 INTO given_token FROM public.lock_fence f
         WHERE f.tenant_id = tenant AND f.resource = ANY (resources);
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

-- Whether the whole set is still held: the first thing that every step of an attempt asks. Whoever
-- would fence it waits until that step has committed, or has fenced it before.
CREATE FUNCTION apply_assert(lease uuid, token_of_lease bigint) RETURNS boolean
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

-- From here on something may be changed.
CREATE FUNCTION apply_begin(lease uuid, token_of_lease bigint) RETURNS boolean
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

-- The attempt is over and says so itself: its resources are free.
CREATE FUNCTION apply_release(lease uuid, token_of_lease bigint) RETURNS boolean
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

-- A heartbeat. One who was fenced, or who has given it back, is not extended.
CREATE FUNCTION apply_extend(
    lease uuid, token_of_lease bigint, OUT until timestamptz, OUT ttl_ms bigint)
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

-- Nobody knows what happened under it: held until somebody has looked, except where the registry
-- says that such a doubt blocks nobody. What is held blocks for ten years, which is for ever.
CREATE FUNCTION apply_block(lease uuid, by_lease uuid) RETURNS void
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
