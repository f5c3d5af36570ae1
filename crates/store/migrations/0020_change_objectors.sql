-- why: taking away a role must not take away the right to object to a pending change
SET LOCAL lock_timeout = '1s';
SET LOCAL statement_timeout = '5s';

-- Who had a role when the change was proposed; only if it takes effect without a second admin.
ALTER TABLE pending_change ADD COLUMN objectors uuid[] NOT NULL DEFAULT '{}';

-- NULL if the version needed no second admin: in setup, or in a tenant with one admin.
-- No release reads this column yet, so none has to expect its absence.
-- squawk-ignore ban-drop-not-null
ALTER TABLE policy_version ALTER COLUMN confirmed_by DROP NOT NULL;
