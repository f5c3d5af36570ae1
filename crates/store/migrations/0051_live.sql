-- why: a socket is opened by a ticket that works once, and asked all the time whether it may stay

-- Of the secret only a hash; whose it is, is asked of the token it was given for.
CREATE TABLE live_ticket (
    tenant_id uuid NOT NULL,
    hash bytea NOT NULL,
    key_id text NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT live_ticket_pkey PRIMARY KEY (tenant_id, hash),
    CONSTRAINT live_ticket_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT live_ticket_hash_is_sha256 CHECK (octet_length(hash) = 32)
);
CREATE INDEX live_ticket_expired ON live_ticket (tenant_id, expires_at);
SELECT keep_to_tenant('live_ticket');
GRANT SELECT, INSERT, DELETE ON live_ticket TO ade_app;

-- Which of these still open anything. One look for all sockets of a process.
CREATE FUNCTION open_tokens(wanted text[]) RETURNS SETOF text
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT t.key_id FROM public.token t
     WHERE t.key_id = ANY (wanted) AND public.token_is_open(t)
$$;
REVOKE EXECUTE ON FUNCTION open_tokens(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION open_tokens(text[]) TO ade_app, ade_worker;

-- Whether people, roles or rules of these tenants have changed; nothing of what they are.
CREATE POLICY owner_compares ON rulebook FOR SELECT TO CURRENT_USER USING (true);
CREATE FUNCTION rulebook_versions(wanted uuid[])
    RETURNS TABLE (tenant uuid, version bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT b.tenant_id, b.version FROM public.rulebook b WHERE b.tenant_id = ANY (wanted)
$$;
REVOKE EXECUTE ON FUNCTION rulebook_versions(uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rulebook_versions(uuid[]) TO ade_app, ade_worker;
