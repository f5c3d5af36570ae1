-- why: somebody's second account is no second person

-- The last line against self-approval: whatever path led here, this row is not written. What
-- is carried was given before; counting it asks again. Aliases reach both ways and through
-- others, as in the rules themselves.
CREATE OR REPLACE FUNCTION vote_is_not_of_the_involved() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, public, pg_temp
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
          JOIN human ON human.id IN (t.author_id, t.submitter_id) OR human.id = ANY (t.editors)
         WHERE t.tenant_id = NEW.tenant_id AND t.id = NEW.task_id)
    THEN
        RAISE EXCEPTION '% had a part in task % and cannot answer it', NEW.voter_id, NEW.task_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'vote_is_not_of_the_involved',
                  TABLE = 'vote';
    END IF;
    RETURN NEW;
END
$$;
