-- why: the same change sent twice at once stood at the gate behind itself, and the decisions of
-- everybody behind both, until it was told to come back

CREATE OR REPLACE FUNCTION open_transaction(
    tenant uuid, lock_ms integer, statement_ms integer, idle_ms integer, gate text,
    key bigint, task uuid, approval uuid, execution uuid,
    OUT key_is_ours boolean, OUT locked_task uuid, OUT moment_in_micros bigint)
    LANGUAGE plpgsql
AS $$
DECLARE
    said text;
BEGIN
    said := set_config('ade.tenant', tenant::text, true);
    said := set_config('lock_timeout', lock_ms::text, true);
    said := set_config('statement_timeout', statement_ms::text, true);
    said := set_config('idle_in_transaction_session_timeout', idle_ms::text, true);
    -- Plans are made once: what a decision costs is planning, if one is made for each call. And
    -- they are made for tables that will be large: one that was empty when its plan was made
    -- would be read from end to end by that plan, long after it has filled up.
    said := set_config('plan_cache_mode', 'force_generic_plan', true);
    said := set_config('enable_seqscan', 'off', true);
    IF key IS NOT NULL THEN
        key_is_ours := pg_try_advisory_xact_lock(key);
    END IF;
    -- While somebody else is at it there is nothing to do but to say so, and whoever stood at the
    -- gate for that would hold up everybody behind.
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
