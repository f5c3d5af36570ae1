-- why: people sign in through a provider, an invitation, a passkey or a terminal

-- Maps groups of an identity provider to roles.
CREATE TABLE group_role (
    tenant_id uuid NOT NULL,
    issuer text NOT NULL,
    group_name text NOT NULL,
    role text NOT NULL,
    CONSTRAINT group_role_pkey PRIMARY KEY (tenant_id, issuer, group_name, role),
    CONSTRAINT group_role_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT group_role_issuer_is_short CHECK (octet_length(issuer) BETWEEN 1 AND 256),
    CONSTRAINT group_role_group_is_short CHECK (octet_length(group_name) BETWEEN 1 AND 256),
    CONSTRAINT group_role_name_is_short CHECK (octet_length(role) BETWEEN 1 AND 128)
);
CREATE INDEX group_role_by_group ON group_role (issuer, group_name);
SELECT keep_to_tenant('group_role');
-- Lists the tenants that a person may enter after sign-in: tenants that know the person and tenants
-- that admit one of their groups.
CREATE POLICY owner_admits ON group_role FOR SELECT TO CURRENT_USER USING (true);
GRANT SELECT, INSERT, DELETE ON group_role TO ade_app;

-- A browser that was redirected to its identity provider. The row belongs to no tenant yet and is
-- only readable with the secret that the browser holds, of which a hash is stored.
CREATE TABLE sign_in (
    hash bytea NOT NULL,
    provider text NOT NULL,
    nonce text NOT NULL,
    verifier text NOT NULL,
    return_to text NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT sign_in_pkey PRIMARY KEY (hash),
    CONSTRAINT sign_in_hash_is_sha256 CHECK (octet_length(hash) = 32)
);
CREATE INDEX sign_in_expired ON sign_in (expires_at);
ALTER TABLE sign_in ENABLE ROW LEVEL SECURITY;
ALTER TABLE sign_in FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_keeps ON sign_in TO CURRENT_USER USING (true) WITH CHECK (true);

CREATE TABLE passkey (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    name text NOT NULL,
    -- The credential id that the authenticator assigned.
    credential bytea NOT NULL,
    -- The algorithm as a COSE number; the public key in X.509 SubjectPublicKeyInfo form.
    algorithm integer NOT NULL,
    public_key bytea NOT NULL,
    counter bigint NOT NULL,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz,
    -- The row is kept, so that earlier signatures can still be verified.
    removed_at timestamptz,
    CONSTRAINT passkey_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT passkey_is_of_a_user FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT passkey_is_known_once UNIQUE (tenant_id, credential),
    CONSTRAINT passkey_name_is_short CHECK (octet_length(name) BETWEEN 1 AND 128),
    CONSTRAINT passkey_credential_is_short CHECK (octet_length(credential) BETWEEN 1 AND 1023),
    CONSTRAINT passkey_key_is_short CHECK (octet_length(public_key) BETWEEN 1 AND 4096),
    CONSTRAINT passkey_counter_has_32_bits CHECK (counter BETWEEN 0 AND 4294967295)
);
CREATE INDEX passkey_of_user ON passkey (tenant_id, user_id) WHERE removed_at IS NULL;
SELECT keep_to_tenant('passkey');
GRANT SELECT, INSERT, UPDATE ON passkey TO ade_app;

-- The pending challenge of a passkey enrolment. A new challenge for the same person replaces it. It
-- is not part of the audited state.
CREATE TABLE passkey_offer (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    -- The session or token that requested the challenge. Only it may answer.
    key_id text NOT NULL,
    name text NOT NULL,
    challenge bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT passkey_offer_pkey PRIMARY KEY (tenant_id, user_id),
    CONSTRAINT passkey_offer_is_of_a_user FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT passkey_offer_name_is_short CHECK (octet_length(name) BETWEEN 1 AND 128),
    CONSTRAINT passkey_offer_challenge_is_sha256 CHECK (octet_length(challenge) = 32)
) WITH (fillfactor = 50);
SELECT keep_to_tenant('passkey_offer');
GRANT SELECT, INSERT, UPDATE, DELETE ON passkey_offer TO ade_app;

-- A passkey confirmation of one decision: requested, given, and used once. The signature covers a
-- hash of subject and nonce, so a reader of the row can verify what was confirmed.
CREATE TABLE step_up (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    key_id text NOT NULL,
    purpose text NOT NULL,
    subject bytea NOT NULL,
    nonce bytea NOT NULL,
    asked_at timestamptz NOT NULL,
    passkey_id uuid,
    client_data bytea,
    authenticator_data bytea,
    signature bytea,
    given_at timestamptz,
    used_at timestamptz,
    CONSTRAINT step_up_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT step_up_is_of_a_user FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT step_up_is_given_by_a_passkey FOREIGN KEY (tenant_id, passkey_id)
        REFERENCES passkey (tenant_id, id),
    CONSTRAINT step_up_purpose_is_short CHECK (octet_length(purpose) BETWEEN 1 AND 32),
    CONSTRAINT step_up_hashes_are_sha256 CHECK (
        octet_length(subject) = 32 AND octet_length(nonce) = 32),
    CONSTRAINT step_up_is_given_whole CHECK (
        num_nonnulls(passkey_id, client_data, authenticator_data, signature, given_at) IN (0, 5)),
    CONSTRAINT step_up_parts_are_short CHECK (
        coalesce(octet_length(client_data), 0) <= 4096
        AND coalesce(octet_length(authenticator_data), 0) <= 4096
        AND coalesce(octet_length(signature), 0) <= 4096),
    CONSTRAINT step_up_is_given_in_time CHECK (
        given_at BETWEEN asked_at AND asked_at + interval '5 minutes'),
    CONSTRAINT step_up_is_used_in_time CHECK (
        used_at IS NULL
        OR (given_at IS NOT NULL AND used_at BETWEEN given_at AND given_at + interval '5 minutes'))
);
CREATE INDEX step_up_open ON step_up (tenant_id, user_id, asked_at) WHERE used_at IS NULL;
SELECT keep_to_tenant('step_up');
-- With `IS NULL`, the planner would prefer the partial index of open confirmations to the primary
-- key.
CREATE POLICY used_is_not_changed ON step_up AS RESTRICTIVE FOR UPDATE
    USING (num_nulls(used_at) = 1) WITH CHECK (true);
CREATE POLICY used_is_not_deleted ON step_up AS RESTRICTIVE FOR DELETE
    USING (num_nulls(used_at) = 1);
GRANT SELECT, INSERT, UPDATE, DELETE ON step_up TO ade_app;

-- A terminal that waits to be approved in a browser. The row belongs to no tenant until it is
-- decided. It is only readable with one of two codes: the device code, of which a hash is stored,
-- and the user code that a person types.
CREATE TABLE device_login (
    hash bytea NOT NULL,
    code text NOT NULL,
    client text NOT NULL,
    -- Empty if unknown.
    address text NOT NULL,
    user_agent text,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    polled_at timestamptz,
    -- The number of seconds the terminal must wait between two polls.
    pace integer NOT NULL,
    decided_at timestamptz,
    approved boolean,
    tenant_id uuid,
    user_id uuid,
    scopes text[],
    days integer,
    CONSTRAINT device_login_pkey PRIMARY KEY (hash),
    CONSTRAINT device_login_code_is_one UNIQUE (code),
    CONSTRAINT device_login_hash_is_sha256 CHECK (octet_length(hash) = 32),
    CONSTRAINT device_login_client_is_short CHECK (octet_length(client) <= 128),
    CONSTRAINT device_login_is_answered_by_a_person CHECK (
        num_nonnulls(decided_at, approved, tenant_id, user_id) IN (0, 4)),
    CONSTRAINT device_login_yes_says_to_what CHECK (
        num_nonnulls(scopes, days) = CASE WHEN approved THEN 2 ELSE 0 END),
    CONSTRAINT device_login_token_lives_30_days_at_most CHECK (days BETWEEN 1 AND 30)
);
CREATE INDEX device_login_expired ON device_login (expires_at);
CREATE INDEX device_login_by_address ON device_login (address) WHERE decided_at IS NULL;
ALTER TABLE device_login ENABLE ROW LEVEL SECURITY;
ALTER TABLE device_login FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_keeps ON device_login TO CURRENT_USER USING (true) WITH CHECK (true);

-- At most one invitation per person is open: a new one replaces the earlier one, so the table never
-- has more rows than there are people. Only a keyed hash of the secret is stored.
CREATE TABLE invitation (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    key_id text NOT NULL,
    secret_hash bytea NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT invitation_pkey PRIMARY KEY (tenant_id, user_id),
    CONSTRAINT invitation_is_of_a_user FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT invitation_hash_is_sha256 CHECK (octet_length(secret_hash) = 32),
    CONSTRAINT invitation_expires_after_15_minutes_at_most CHECK (
        expires_at <= created_at + interval '15 minutes')
);
CREATE UNIQUE INDEX invitation_key_id_names_one_tenant ON invitation (key_id);
SELECT keep_to_tenant('invitation');
-- An invitation is presented before its tenant is known. The function returns the hash to compare
-- with, and whether the invitation can still be accepted: it has not expired, and both the tenant
-- and the person are active.
CREATE POLICY owner_resolves ON invitation FOR SELECT TO CURRENT_USER USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON invitation TO ade_app;

CREATE FUNCTION tenants_of_subject(wanted_issuer text, wanted_subject text, groups text[])
    RETURNS TABLE (tenant uuid, name text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT n.tenant_id, n.name FROM public.tenant n
     WHERE n.active AND NOT EXISTS (
               SELECT FROM public.app_user u
                WHERE u.tenant_id = n.tenant_id AND u.issuer = wanted_issuer
                  AND u.subject = wanted_subject AND NOT u.active)
       AND n.tenant_id IN (
               SELECT u.tenant_id FROM public.app_user u
                WHERE u.issuer = wanted_issuer AND u.subject = wanted_subject
               UNION
               SELECT g.tenant_id FROM public.group_role g
                WHERE g.issuer = wanted_issuer AND g.group_name = ANY (groups))
     ORDER BY n.name, n.tenant_id
$$;
REVOKE EXECUTE ON FUNCTION tenants_of_subject(text, text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenants_of_subject(text, text, text[]) TO ade_app;

-- Each new sign-in removes a bounded number of expired ones.
CREATE FUNCTION begin_sign_in(
    hash bytea, provider text, nonce text, verifier text, return_to text, valid_for interval
) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    WITH old AS (
        DELETE FROM public.sign_in s WHERE s.hash IN (
            SELECT o.hash FROM public.sign_in o WHERE o.expires_at <= now()
             ORDER BY o.expires_at LIMIT 100 FOR UPDATE SKIP LOCKED))
    INSERT INTO public.sign_in VALUES ($1, $2, $3, $4, $5, now() + $6)
$$;
REVOKE EXECUTE ON FUNCTION begin_sign_in(bytea, text, text, text, text, interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION begin_sign_in(bytea, text, text, text, text, interval) TO ade_app;

-- Ends a sign-in exactly once and only before it expires.
CREATE FUNCTION end_sign_in(
    wanted bytea, OUT provider text, OUT nonce text, OUT verifier text, OUT return_to text
) RETURNS SETOF record
    LANGUAGE sql VOLATILE SECURITY DEFINER ROWS 1
    SET search_path = pg_catalog, public, pg_temp
AS $$
    WITH taken AS (DELETE FROM public.sign_in s WHERE s.hash = wanted RETURNING s.*)
    SELECT t.provider, t.nonce, t.verifier, t.return_to FROM taken t WHERE t.expires_at > now()
$$;
REVOKE EXECUTE ON FUNCTION end_sign_in(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION end_sign_in(bytea) TO ade_app;

CREATE FUNCTION resolve_invitation(
    wanted text,
    OUT tenant_id uuid,
    OUT user_id uuid,
    OUT secret_hash bytea,
    OUT is_live boolean
) RETURNS SETOF record
    LANGUAGE sql STABLE SECURITY DEFINER ROWS 1
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT i.tenant_id, i.user_id, i.secret_hash,
           i.expires_at > now()
           AND EXISTS (SELECT FROM public.tenant n WHERE n.tenant_id = i.tenant_id AND n.active)
           AND EXISTS (SELECT FROM public.app_user u
                        WHERE u.tenant_id = i.tenant_id AND u.id = i.user_id AND u.active)
      FROM public.invitation i WHERE i.key_id = wanted
$$;
REVOKE EXECUTE ON FUNCTION resolve_invitation(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION resolve_invitation(text) TO ade_app;

-- Each new device login removes a bounded number of expired ones. Logins from one address are
-- serialized, so that concurrent requests cannot exceed the limit together.
CREATE FUNCTION begin_device_login(
    new_hash bytea,
    new_code text,
    new_client text,
    new_address text,
    new_user_agent text,
    valid_for interval,
    new_pace integer,
    most integer
) RETURNS text
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    DELETE FROM public.device_login d WHERE d.hash IN (
        SELECT o.hash FROM public.device_login o WHERE o.expires_at <= now()
         ORDER BY o.expires_at LIMIT 100 FOR UPDATE SKIP LOCKED);
    PERFORM pg_advisory_xact_lock(hashtextextended('device_login ' || new_address, 0));
    IF most <= (SELECT count(*) FROM public.device_login d
                 WHERE d.address = new_address AND d.decided_at IS NULL AND d.expires_at > now())
    THEN
        RETURN 'crowded';
    END IF;
    INSERT INTO public.device_login
        (hash, code, client, address, user_agent, created_at, expires_at, pace)
    VALUES (new_hash, new_code, new_client, new_address, new_user_agent, now(),
            now() + valid_for, new_pace)
    ON CONFLICT DO NOTHING;
    RETURN CASE WHEN FOUND THEN 'begun' ELSE 'taken' END;
END
$$;
REVOKE EXECUTE ON FUNCTION
    begin_device_login(bytea, text, text, text, text, interval, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    begin_device_login(bytea, text, text, text, text, interval, integer, integer) TO ade_app;

-- Polls a device login. Polling too early increases the required interval and reveals nothing else.
-- A denial is reported once.
CREATE FUNCTION poll_device_login(
    wanted bytea,
    slower integer,
    OUT outcome text,
    OUT pace integer,
    OUT tenant_id uuid,
    OUT user_id uuid
) RETURNS record
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    it public.device_login;
BEGIN
    SELECT d.* INTO it FROM public.device_login d
     WHERE d.hash = wanted AND d.expires_at > now() FOR UPDATE;
    IF it.hash IS NULL THEN
        outcome := 'expired';
        RETURN;
    END IF;
    pace := it.pace;
    IF it.polled_at + make_interval(secs => it.pace) > now() THEN
        outcome := 'slow_down';
        pace := it.pace + slower;
    ELSIF it.decided_at IS NULL THEN
        outcome := 'pending';
    ELSIF it.approved THEN
        outcome := 'approved';
        tenant_id := it.tenant_id;
        user_id := it.user_id;
    ELSE
        outcome := 'denied';
        DELETE FROM public.device_login d WHERE d.hash = wanted;
    END IF;
    UPDATE public.device_login d SET polled_at = now(), pace = poll_device_login.pace
     WHERE d.hash = wanted;
END
$$;
REVOKE EXECUTE ON FUNCTION poll_device_login(bytea, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION poll_device_login(bytea, integer) TO ade_app;

-- Finds a device login by the code that the person typed.
CREATE FUNCTION find_device_login(
    wanted text,
    OUT client text,
    OUT address text,
    OUT user_agent text,
    OUT created_at timestamptz,
    OUT expires_at timestamptz,
    OUT approved boolean,
    OUT tenant_id uuid,
    OUT user_id uuid
) RETURNS SETOF record
    LANGUAGE sql STABLE SECURITY DEFINER ROWS 1
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT d.client, d.address, d.user_agent, d.created_at, d.expires_at, d.approved, d.tenant_id,
           d.user_id
      FROM public.device_login d WHERE d.code = wanted AND d.expires_at > now()
$$;
REVOKE EXECUTE ON FUNCTION find_device_login(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_device_login(text) TO ade_app;

-- Decides a device login once, before it expires, for the tenant of the current transaction.
CREATE FUNCTION decide_device_login(
    wanted text, by_user uuid, is_yes boolean, given text[], valid_days integer
) RETURNS boolean
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    WITH decided AS (
        UPDATE public.device_login d
           SET decided_at = now(), approved = is_yes, tenant_id = public.current_tenant(),
               user_id = by_user, scopes = given, days = valid_days
         WHERE d.code = wanted AND d.decided_at IS NULL AND d.expires_at > now()
        RETURNING d.code)
    SELECT EXISTS (SELECT FROM decided)
$$;
REVOKE EXECUTE ON FUNCTION decide_device_login(text, uuid, boolean, text[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION decide_device_login(text, uuid, boolean, text[], integer) TO ade_app;

-- Takes an approved device login. Of several concurrent callers, one succeeds.
CREATE FUNCTION take_device_login(
    wanted bytea, OUT client text, OUT scopes text[], OUT days integer
) RETURNS SETOF record
    LANGUAGE sql VOLATILE SECURITY DEFINER ROWS 1
    SET search_path = pg_catalog, public, pg_temp
AS $$
    WITH taken AS (
        DELETE FROM public.device_login d
         WHERE d.hash = wanted AND d.approved AND d.expires_at > now()
           AND d.tenant_id = public.current_tenant()
        RETURNING d.client, d.scopes, d.days)
    SELECT t.client, t.scopes, t.days FROM taken t
$$;
REVOKE EXECUTE ON FUNCTION take_device_login(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION take_device_login(bytea) TO ade_app;
