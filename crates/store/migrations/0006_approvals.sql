-- why: review requests, votes and overrides record who approved a revision and why it counts

-- `seq` preserves the order of requests and votes. The rows are deleted together with a draft; its
-- audit entries are kept.
CREATE TABLE approval (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    revision integer NOT NULL,
    reviewer_id uuid NOT NULL,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL DEFAULT uuid_v7(),
    status text NOT NULL,
    places json NOT NULL,
    requested_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    -- Copied from the task when the review is requested. Risk and priority of a revision do not
    -- change.
    score integer NOT NULL,
    CONSTRAINT approval_pkey PRIMARY KEY (tenant_id, task_id, revision, reviewer_id),
    CONSTRAINT approval_id_is_unique UNIQUE (tenant_id, id),
    CONSTRAINT approval_task_exists FOREIGN KEY (tenant_id, task_id)
        REFERENCES task (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT approval_reviewer_exists FOREIGN KEY (tenant_id, reviewer_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT approval_status_is_known CHECK (status IN (
        'PENDING', 'APPROVED', 'REJECTED', 'DELEGATED', 'SUPERSEDED', 'EXPIRED')),
    CONSTRAINT approval_score_is_natural CHECK (score >= 0)
) WITH (fillfactor = 80);
CREATE INDEX approval_overdue ON approval (tenant_id, reviewer_id, due_at, id)
    WHERE status = 'PENDING';
CREATE INDEX approval_queue ON approval (tenant_id, reviewer_id, score DESC, id)
    WHERE status = 'PENDING';
CREATE INDEX approval_ended ON approval (tenant_id, reviewer_id, status, id)
    WHERE status <> 'PENDING';
SELECT keep_to_tenant('approval');
GRANT SELECT, INSERT, UPDATE ON approval TO ade_app;

CREATE TABLE vote (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL DEFAULT uuid_v7(),
    voter_id uuid NOT NULL,
    answer text NOT NULL,
    revision integer NOT NULL,
    digest bytea NOT NULL,
    round integer NOT NULL,
    places uuid[] NOT NULL,
    reason text,
    at timestamptz NOT NULL,
    effectual boolean NOT NULL,
    carried_from integer,
    CONSTRAINT vote_pkey PRIMARY KEY (tenant_id, task_id, seq),
    CONSTRAINT vote_id_is_unique UNIQUE (tenant_id, id),
    CONSTRAINT vote_revision_exists FOREIGN KEY (tenant_id, task_id, revision)
        REFERENCES task_revision (tenant_id, task_id, revision) ON DELETE CASCADE,
    CONSTRAINT vote_voter_exists FOREIGN KEY (tenant_id, voter_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT vote_answer_is_known CHECK (answer IN ('approve', 'reject', 'request_changes')),
    CONSTRAINT vote_digest_is_sha256 CHECK (octet_length(digest) = 32),
    CONSTRAINT vote_no_has_a_reason CHECK (answer = 'approve' OR reason IS NOT NULL),
    CONSTRAINT vote_reason_is_bounded CHECK (octet_length(reason) <= 4096),
    CONSTRAINT vote_is_carried_forward CHECK (carried_from < revision)
);
CREATE INDEX vote_of_voter ON vote (tenant_id, voter_id, at);
SELECT keep_to_tenant('vote');
GRANT SELECT, INSERT ON vote TO ade_app;

-- A vote is immutable; withdrawing it is a separate row.
CREATE TABLE vote_withdrawal (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    vote_seq bigint NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT vote_withdrawal_pkey PRIMARY KEY (tenant_id, task_id, vote_seq),
    CONSTRAINT vote_withdrawal_vote_exists FOREIGN KEY (tenant_id, task_id, vote_seq)
        REFERENCES vote (tenant_id, task_id, seq) ON DELETE CASCADE
);
SELECT keep_to_tenant('vote_withdrawal');
GRANT SELECT, INSERT ON vote_withdrawal TO ade_app;

CREATE TABLE override (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT uuid_v7(),
    revision integer NOT NULL,
    digest bytea NOT NULL,
    asked_by uuid NOT NULL,
    ticket text NOT NULL,
    reason text NOT NULL,
    asked_at timestamptz NOT NULL,
    confirm_before timestamptz NOT NULL,
    confirmed_by uuid,
    valid_until timestamptz,
    dropped_at timestamptz,
    CONSTRAINT override_pkey PRIMARY KEY (tenant_id, task_id, id),
    CONSTRAINT override_revision_exists FOREIGN KEY (tenant_id, task_id, revision)
        REFERENCES task_revision (tenant_id, task_id, revision) ON DELETE CASCADE,
    CONSTRAINT override_asker_exists FOREIGN KEY (tenant_id, asked_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT override_confirmer_exists FOREIGN KEY (tenant_id, confirmed_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT override_has_two_admins CHECK (confirmed_by <> asked_by),
    CONSTRAINT override_confirmed_ends CHECK ((confirmed_by IS NULL) = (valid_until IS NULL)),
    CONSTRAINT override_digest_is_sha256 CHECK (octet_length(digest) = 32),
    CONSTRAINT override_says_why CHECK (
        octet_length(reason) BETWEEN 1 AND 4096 AND btrim(ticket) <> '')
);
CREATE UNIQUE INDEX override_one_live_per_task ON override (tenant_id, task_id)
    WHERE dropped_at IS NULL;
SELECT keep_to_tenant('override');
GRANT SELECT, INSERT, UPDATE ON override TO ade_app;

CREATE TABLE after_review (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT uuid_v7(),
    opened_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    done_by uuid,
    done_at timestamptz,
    finding text,
    CONSTRAINT after_review_pkey PRIMARY KEY (tenant_id, task_id, id),
    CONSTRAINT after_review_task_exists FOREIGN KEY (tenant_id, task_id)
        REFERENCES task (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT after_review_reviewer_exists FOREIGN KEY (tenant_id, done_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT after_review_is_done_by_a_person CHECK (
        num_nonnulls(done_by, done_at, finding) IN (0, 3))
);
CREATE INDEX after_review_owed ON after_review (tenant_id, due_at, id) WHERE done_at IS NULL;
SELECT keep_to_tenant('after_review');
-- The function runs as the owner, to whom FORCE applies as well.
CREATE POLICY owner_counts ON after_review FOR SELECT TO CURRENT_USER USING (true);
GRANT SELECT, INSERT, UPDATE ON after_review TO ade_app;

CREATE TABLE on_call (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    role text NOT NULL,
    user_id uuid NOT NULL,
    starts_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL,
    set_by uuid NOT NULL,
    set_at timestamptz NOT NULL,
    CONSTRAINT on_call_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT on_call_is_a_person FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT on_call_is_set_by_a_person FOREIGN KEY (tenant_id, set_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT on_call_ends_after_it_starts CHECK (starts_at < ends_at),
    CONSTRAINT on_call_role_is_short CHECK (octet_length(role) BETWEEN 1 AND 128)
);
CREATE INDEX on_call_of_role ON on_call (tenant_id, role, ends_at);
SELECT keep_to_tenant('on_call');
GRANT SELECT, INSERT, DELETE ON on_call TO ade_app;

-- The position in a reviewer's queue, computed as in the core (a test compares both): risk times
-- ten plus a bonus for the priority band.
CREATE FUNCTION queue_score(risk integer, priority integer) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN risk * 10 + CASE
        WHEN priority >= 85 THEN 1000
        WHEN priority >= 60 THEN 500
        WHEN priority >= 25 THEN 100
        ELSE 0 END;

-- Returns the people whom a role reaches at a given time: holders who are on call, or all holders
-- if none is on call. Being on call does not grant a role.
CREATE FUNCTION reached_by_role(wanted text, moment timestamptz) RETURNS SETOF uuid
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, public, pg_temp
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
REVOKE EXECUTE ON FUNCTION reached_by_role(text, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION reached_by_role(text, timestamptz) TO ade_app;

-- The task of a request is immutable, so it is read before the lock is taken. Returns NULL for an
-- unknown request.
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

-- The last defence against self-approval: the row is refused whatever code path led here. Carried
-- votes were checked when they were cast and are checked again when they are counted. Aliases are
-- followed in both directions and transitively, as in the core.
CREATE FUNCTION vote_is_not_of_the_involved() RETURNS trigger
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

-- Counts overdue after-reviews of the whole installation for metrics, without reading completed
-- ones.
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

CREATE TRIGGER vote_is_not_of_the_involved BEFORE INSERT ON vote
    FOR EACH ROW EXECUTE FUNCTION vote_is_not_of_the_involved();
