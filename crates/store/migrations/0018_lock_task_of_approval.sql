-- why: a vote names a request, and finding its task first cost a transaction of its own

-- A request never changes its task, so it may be read before the lock. NULL if there is none.
CREATE FUNCTION lock_task_of_approval(wanted uuid) RETURNS uuid
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
