-- why: `ade login` signs a terminal in that has no browser of its own

-- A terminal that waits for a person at some browser. It belongs to no tenant before somebody has
-- answered, and nobody reads it but by one of two codes: the one that the terminal keeps to itself,
-- of which there is a hash here, and the one that the person types.
CREATE TABLE device_login (
    hash bytea NOT NULL,
    code text NOT NULL,
    client text NOT NULL,
    -- Empty if it is not known.
    address text NOT NULL,
    user_agent text,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    polled_at timestamptz,
    -- Seconds that must pass until it may ask again.
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
    CONSTRAINT device_login_is_answered_by_somebody CHECK (
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

-- Old ones go with each new one, some at a time. Those from one address stand in line here, or all
-- of them would count the same few.
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

-- For the person who has typed the code.
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

-- Once, in time, and for the tenant whose transaction this is.
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

-- A terminal asks. Whoever asks too early waits longer from then on, and learns nothing else; that
-- somebody said no is told once.
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

-- For one caller only, however many ask at once, and in time.
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
