-- why: every attempt to apply an approved task is recorded with its log and its outcome

CREATE TABLE execution (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT uuid_v7(),
    revision integer NOT NULL,
    holder json NOT NULL,
    lease_id uuid NOT NULL,
    token bigint NOT NULL,
    started_at timestamptz NOT NULL,
    begun_at timestamptz,
    abort_requested boolean NOT NULL DEFAULT false,
    ended_at timestamptz,
    late_report text,
    attempt integer NOT NULL DEFAULT 1,
    result text,
    left_behind text,
    error text,
    output text,
    output_key text,
    details json,
    log_lines bigint NOT NULL DEFAULT 0,
    log_bytes bigint NOT NULL DEFAULT 0,
    CONSTRAINT execution_pkey PRIMARY KEY (tenant_id, task_id, id),
    CONSTRAINT execution_revision_exists FOREIGN KEY (tenant_id, task_id, revision)
        REFERENCES task_revision (tenant_id, task_id, revision) ON DELETE CASCADE,
    CONSTRAINT execution_token_is_natural CHECK (token >= 0),
    CONSTRAINT execution_late_report_is_known CHECK (
        late_report IN ('finished', 'nothing', 'rolled_back', 'changed')),
    CONSTRAINT execution_is_found_by_id UNIQUE (tenant_id, id),
    CONSTRAINT execution_result_is_known CHECK (result IN (
        'success', 'failure', 'timeout', 'cancelled', 'unknown', 'drifted', 'lost')),
    CONSTRAINT execution_left_is_known CHECK (
        left_behind IN ('nothing', 'rolled_back', 'changed')),
    CONSTRAINT execution_error_is_short CHECK (octet_length(error) <= 4096),
    CONSTRAINT execution_output_is_short CHECK (octet_length(output) <= 65536),
    CONSTRAINT execution_counts_are_natural CHECK (
        attempt >= 1 AND log_lines >= 0 AND log_bytes >= 0)
) WITH (fillfactor = 80);
-- Refuses a second live execution of a task.
CREATE UNIQUE INDEX execution_one_live_per_task ON execution (tenant_id, task_id)
    WHERE ended_at IS NULL;
SELECT keep_to_tenant('execution');
GRANT SELECT, INSERT, UPDATE ON execution TO ade_app;

-- The log of an execution. Lines are numbered, so a line that is sent again is stored once.
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

-- The task of an execution is immutable, so it is read before the lock is taken. Returns NULL for
-- an unknown execution.
CREATE FUNCTION lock_task_of_execution(wanted uuid) RETURNS uuid
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

-- Registers the lease of a permit. Without a token from the queue, a token above all earlier tokens
-- of the resources is generated. A session that belongs to the execution alone is created here.
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

-- Returns whether all resources of the lease are still held. Every step of an execution checks this
-- first. A concurrent attempt to fence the lease waits until the step has committed.
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

-- Marks that the executor may change the resources from now on.
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

-- Extends the lease of an execution. A fenced or released lease is not extended.
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

-- Releases the resources of a finished execution.
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

-- Keeps the resources of an execution with unknown outcome until it is reconciled, except where the
-- registry says that an unknown outcome does not block. Ten years stand for an unlimited hold.
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
