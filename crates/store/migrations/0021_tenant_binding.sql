-- why: only an address that a provider has verified counts towards the limit that ends a sign-in
SET LOCAL lock_timeout = '1s';
SET LOCAL statement_timeout = '5s';

-- When an identity provider verified the address of the account. NULL if only an admin has entered
-- it; an account from before this column is verified again at its next sign-in.
ALTER TABLE app_user ADD COLUMN email_verified_at timestamptz;
