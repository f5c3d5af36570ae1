-- why: an account that one admin could have entered in place of its owner is known as such
SET LOCAL lock_timeout = '1s';
SET LOCAL statement_timeout = '5s';

-- The admin who could read the invitation with which the person joined, and since when; both are
-- NULL for everyone else, and again once another admin has confirmed the person.
ALTER TABLE app_user ADD COLUMN invited_by uuid;
ALTER TABLE app_user ADD COLUMN unconfirmed_since timestamptz;
ALTER TABLE app_user ADD CONSTRAINT app_user_is_unconfirmed_by_invitation CHECK (
    num_nonnulls(invited_by, unconfirmed_since) IN (0, 2)) NOT VALID;
-- When the passkeys of the person were last reset; NULL if they never were.
ALTER TABLE app_user ADD COLUMN passkeys_reset_at timestamptz;

-- The link between an unconfirmed person and the admin who invited them. It ends when another admin
-- confirms the person.
ALTER TABLE user_alias ADD COLUMN until_confirmed boolean NOT NULL DEFAULT false;
GRANT UPDATE (until_confirmed) ON user_alias TO ade_app;

-- Who created the invitation, and whether they could read its secret. No earlier invitation is
-- valid for longer than 15 minutes.
ALTER TABLE invitation ADD COLUMN invited_by uuid;
ALTER TABLE invitation ADD COLUMN is_shown boolean NOT NULL DEFAULT true;

-- When a passkey that was enrolled after a reset begins to count for tasks of high and critical
-- risk; NULL if it counted at once.
ALTER TABLE passkey ADD COLUMN counts_from timestamptz;

-- Reservations about the authority of the voter at the time of the vote.
ALTER TABLE vote ADD COLUMN marks text[] NOT NULL DEFAULT '{}';
ALTER TABLE vote ADD CONSTRAINT vote_marks_are_known CHECK (
    marks <@ ARRAY['unconfirmed', 'new_role', 'new_passkey']) NOT VALID;
