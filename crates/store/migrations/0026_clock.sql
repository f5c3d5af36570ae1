-- why: one clock for every process, which a test moves by writing this function anew

-- Asked at the moment itself, since a transaction may have waited for its gate or its row.
CREATE FUNCTION moment() RETURNS timestamptz
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN clock_timestamp();

ALTER TABLE token ALTER COLUMN created_at SET DEFAULT moment();

CREATE OR REPLACE FUNCTION token_is_open(token) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN $1.revoked_at IS NULL AND $1.expires_at > moment() AND $1.used_at IS NULL;

CREATE OR REPLACE FUNCTION consume_token(wanted text) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO pg_catalog, public, pg_temp
    AS $$
    WITH used AS (
        UPDATE public.token t SET used_at = public.moment()
         WHERE t.key_id = wanted AND t.single_use AND public.token_is_open(t)
        RETURNING t.key_id)
    SELECT EXISTS (SELECT FROM used)
$$;
