-- why: the batch that begins a decision is text, and planning its lock cost more than the lock

-- Keeps its plan for the life of the connection. Runs as whoever calls it, under their tenant.
CREATE FUNCTION lock_task(wanted uuid) RETURNS void
    LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM FROM public.task t
      WHERE t.tenant_id = public.current_tenant() AND t.id = wanted
        FOR NO KEY UPDATE;
END
$$;
