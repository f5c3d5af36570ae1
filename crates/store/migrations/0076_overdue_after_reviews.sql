-- why: a review that an override owes and that nobody writes is told, and stands out until it is

-- How many are overdue in the whole installation: for figures, which are of no tenant. Those that
-- are written pile up, and are not read for it.
CREATE FUNCTION overdue_after_reviews() RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
    SET enable_seqscan = off
AS $$
    SELECT count(*) FROM public.after_review a
     WHERE a.done_at IS NULL AND a.due_at <= (SELECT public.moment())
$$;
REVOKE EXECUTE ON FUNCTION overdue_after_reviews() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION overdue_after_reviews() TO ade_app, ade_worker;

-- It runs as the owner, whom FORCE binds too.
CREATE POLICY owner_counts ON after_review FOR SELECT TO CURRENT_USER USING (true);

-- Those that are owed already are watched like those to come.
DO $$
DECLARE
    owed record;
BEGIN
    FOR owed IN SELECT a.tenant_id, a.id, a.due_at FROM after_review a WHERE a.done_at IS NULL LOOP
        PERFORM set_config('ade.tenant', owed.tenant_id::text, true);
        INSERT INTO due (tenant_id, kind, object, at)
        VALUES (owed.tenant_id, 'after_review', owed.id, owed.due_at);
    END LOOP;
    PERFORM set_config('ade.tenant', '', true);
END
$$;
