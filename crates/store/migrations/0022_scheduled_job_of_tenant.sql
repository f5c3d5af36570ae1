-- no-transaction
-- why: a worker finds the oldest due jobs of every tenant behind the backlog of one of them
-- The migrator sets lock_timeout. Building the index may take long and blocks no writer. Its
-- condition is always true. Only a query that repeats it uses this index: a statement about one
-- object must use the primary key, and in an empty table both look equally cheap.
-- squawk-ignore require-lock-timeout, require-statement-timeout, prefer-robust-stmts
CREATE INDEX CONCURRENTLY scheduled_job_of_tenant ON scheduled_job (kind, tenant_id, at)
    WHERE at > '-infinity';
