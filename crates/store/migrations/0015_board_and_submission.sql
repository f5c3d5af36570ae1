-- why: every process sees what workers did, and small changes handed in together count together

-- When it was last handed in; what an author hands in within an hour is rated as one change.
ALTER TABLE task ADD COLUMN submitted_at timestamptz;
CREATE INDEX task_submitted_by_author ON task (tenant_id, author_id, submitted_at)
    WHERE submitted_at IS NOT NULL;

-- The lease's row is the board: what the last activation did, whoever ran it.
ALTER TABLE worker_lease
    ADD COLUMN ran_at timestamptz,
    ADD COLUMN runs bigint NOT NULL DEFAULT 0,
    ADD COLUMN items bigint NOT NULL DEFAULT 0,
    ADD COLUMN failure text,
    ADD CONSTRAINT worker_lease_counts_are_natural CHECK (runs >= 0 AND items >= 0),
    ADD CONSTRAINT worker_lease_failure_is_short CHECK (octet_length(failure) <= 1024);
CREATE POLICY application_reads ON worker_lease FOR SELECT TO ade_app USING (true);
GRANT SELECT ON worker_lease TO ade_app;
