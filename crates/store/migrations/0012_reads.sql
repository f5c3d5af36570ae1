-- why: lists, the inbox and the audit by actor cost the same at ten thousand tasks and ten million

-- By state whether open or closed, newest first. The partial index on open tasks knew the same
-- for half of the states; two indexes would be written where one serves.
CREATE INDEX task_of_state ON task (tenant_id, state, id);
DROP INDEX task_open;

-- Type and level change with a revision only, so they are indexed where revisions are: a change
-- of state writes nothing here.
CREATE INDEX task_revision_of_type ON task_revision (tenant_id, task_type, task_id, revision);
CREATE INDEX task_revision_of_level ON task_revision (tenant_id, level, task_id, revision);

-- The place in a reviewer's queue, as the core counts it (a test holds both together): risk
-- times ten, and a bonus for the band of the priority.
CREATE FUNCTION queue_score(risk integer, priority integer) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN risk * 10 + CASE
        WHEN priority >= 85 THEN 1000
        WHEN priority >= 60 THEN 500
        WHEN priority >= 25 THEN 100
        ELSE 0 END;

-- Copied from the task when somebody is asked: risk and priority of a revision do not change.
ALTER TABLE approval ADD COLUMN score integer NOT NULL DEFAULT 0,
    ADD CONSTRAINT approval_score_is_natural CHECK (score >= 0);
UPDATE approval a SET score = queue_score(r.risk, t.priority)
  FROM task t, task_revision r
 WHERE (t.tenant_id, t.id) = (a.tenant_id, a.task_id)
   AND (r.tenant_id, r.task_id, r.revision) = (a.tenant_id, a.task_id, a.revision);
ALTER TABLE approval ALTER COLUMN score DROP DEFAULT;

-- What is overdue comes first, longest overdue first; then the rest by score.
DROP INDEX approval_inbox;
CREATE INDEX approval_overdue ON approval (tenant_id, reviewer_id, due_at, id)
    WHERE status = 'PENDING';
CREATE INDEX approval_queue ON approval (tenant_id, reviewer_id, score DESC, id)
    WHERE status = 'PENDING';
CREATE INDEX approval_ended ON approval (tenant_id, reviewer_id, status, id)
    WHERE status <> 'PENDING';

-- An actor is a person or an agent; workers are few and found by their object.
CREATE INDEX audit_leaf_of_actor ON audit_leaf
    (tenant_id, (coalesce(user_id, agent_id)), at, id);

-- Whose kept answers have run out, for the pruner, which then opens a transaction per tenant.
-- Nothing but tenant ids comes out, so many at a time, in their order.
CREATE POLICY owner_looks_for_expired ON idempotency FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY owner_lists ON tenant FOR SELECT TO CURRENT_USER USING (true);
CREATE FUNCTION tenants_with_expired_answers(until timestamptz, after uuid, most integer)
    RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT t.tenant_id
      FROM public.tenant t
     WHERE (after IS NULL OR t.tenant_id > after)
       AND EXISTS (SELECT FROM public.idempotency i
                    WHERE i.tenant_id = t.tenant_id AND i.expires_at <= until)
     ORDER BY t.tenant_id
     LIMIT least(most, 1000)
$$;
REVOKE EXECUTE ON FUNCTION tenants_with_expired_answers(timestamptz, uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenants_with_expired_answers(timestamptz, uuid, integer) TO ade_worker;
