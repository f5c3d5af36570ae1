-- why: who was asked, what they answered, who broke the glass, and what is being applied

-- `seq` keeps the order in which people were asked and answered. All of this goes with a draft
-- that its author deletes; the leaves of the audit stay.
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
    CONSTRAINT approval_pkey PRIMARY KEY (tenant_id, task_id, revision, reviewer_id),
    CONSTRAINT approval_id_is_unique UNIQUE (tenant_id, id),
    CONSTRAINT approval_task_exists FOREIGN KEY (tenant_id, task_id)
        REFERENCES task (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT approval_reviewer_exists FOREIGN KEY (tenant_id, reviewer_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT approval_status_is_known CHECK (status IN (
        'PENDING', 'APPROVED', 'REJECTED', 'DELEGATED', 'SUPERSEDED', 'EXPIRED'))
) WITH (fillfactor = 80);
CREATE INDEX approval_inbox ON approval (tenant_id, reviewer_id, due_at, task_id)
    WHERE status = 'PENDING';

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

-- The last line against self-approval: whatever path led here, this row is not written. What
-- is carried was given before; counting it asks again.
CREATE FUNCTION vote_is_not_of_the_involved() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF NEW.carried_from IS NULL AND EXISTS (
        SELECT FROM public.task t
         WHERE t.tenant_id = NEW.tenant_id AND t.id = NEW.task_id
           AND (NEW.voter_id IN (t.author_id, t.submitter_id) OR NEW.voter_id = ANY (t.editors)))
    THEN
        RAISE EXCEPTION '% had a part in task % and cannot answer it', NEW.voter_id, NEW.task_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'vote_is_not_of_the_involved',
                  TABLE = 'vote';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER vote_is_not_of_the_involved BEFORE INSERT ON vote
    FOR EACH ROW EXECUTE FUNCTION vote_is_not_of_the_involved();

-- A vote never changes; taking it back is a fact of its own.
CREATE TABLE vote_withdrawal (
    tenant_id uuid NOT NULL,
    task_id uuid NOT NULL,
    vote_seq bigint NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT vote_withdrawal_pkey PRIMARY KEY (tenant_id, task_id, vote_seq),
    CONSTRAINT vote_withdrawal_vote_exists FOREIGN KEY (tenant_id, task_id, vote_seq)
        REFERENCES vote (tenant_id, task_id, seq) ON DELETE CASCADE
);

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
    CONSTRAINT after_review_is_done_by_somebody CHECK (
        num_nonnulls(done_by, done_at, finding) IN (0, 3))
);
CREATE INDEX after_review_owed ON after_review (tenant_id, due_at) WHERE done_at IS NULL;

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
    CONSTRAINT execution_pkey PRIMARY KEY (tenant_id, task_id, id),
    CONSTRAINT execution_revision_exists FOREIGN KEY (tenant_id, task_id, revision)
        REFERENCES task_revision (tenant_id, task_id, revision) ON DELETE CASCADE,
    CONSTRAINT execution_token_is_natural CHECK (token >= 0),
    CONSTRAINT execution_late_report_is_known CHECK (
        late_report IN ('finished', 'nothing', 'rolled_back', 'changed'))
) WITH (fillfactor = 80);
-- Two workers, one task: the second is refused here, whatever it believes.
CREATE UNIQUE INDEX execution_one_live_per_task ON execution (tenant_id, task_id)
    WHERE ended_at IS NULL;

SELECT keep_to_tenant('approval'), keep_to_tenant('vote'), keep_to_tenant('vote_withdrawal'),
       keep_to_tenant('override'), keep_to_tenant('after_review'), keep_to_tenant('execution');

GRANT SELECT, INSERT, UPDATE ON approval, override, after_review, execution TO ade_app;
GRANT SELECT, INSERT ON vote, vote_withdrawal TO ade_app;
