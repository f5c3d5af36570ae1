-- why: a sign-in that fails in one tenant must not fail in the others, nor open that one later
SET LOCAL lock_timeout = '1s';
SET LOCAL statement_timeout = '5s';

-- The tenants whose roles the sign-in of this session could not update.
ALTER TABLE token ADD COLUMN outdated_tenants uuid[];
