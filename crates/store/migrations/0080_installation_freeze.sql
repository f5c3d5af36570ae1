-- why: an incident may be in all tenants, and nobody in one of them may stop the others

-- Of the installation, not of a tenant. Set and lifted over the owner's connection; the application
-- reads whether one is in force and can do nothing else. What was lifted stays as the history.
CREATE TABLE installation_freeze (
    number bigint GENERATED ALWAYS AS IDENTITY,
    reason text NOT NULL,
    -- What they are called where they sat, and no account of any tenant.
    set_by text NOT NULL,
    set_at timestamptz NOT NULL,
    lifted_by text,
    lifted_at timestamptz,
    lifted_because text,
    CONSTRAINT installation_freeze_pkey PRIMARY KEY (number),
    CONSTRAINT installation_freeze_reason_is_short CHECK (octet_length(reason) BETWEEN 1 AND 1024),
    CONSTRAINT installation_freeze_is_set_by_somebody CHECK (
        octet_length(set_by) BETWEEN 1 AND 128),
    CONSTRAINT installation_freeze_is_lifted_by_somebody CHECK (
        num_nonnulls(lifted_by, lifted_at, lifted_because) IN (0, 3)
        AND octet_length(lifted_by) BETWEEN 1 AND 128
        AND octet_length(lifted_because) BETWEEN 1 AND 1024)
);
-- One at a time. It is also how the one in force is found.
CREATE UNIQUE INDEX installation_freeze_in_force ON installation_freeze ((lifted_at IS NULL))
    WHERE lifted_at IS NULL;

ALTER TABLE installation_freeze ENABLE ROW LEVEL SECURITY;
ALTER TABLE installation_freeze FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_keeps ON installation_freeze TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY everybody_sees ON installation_freeze FOR SELECT TO ade_app USING (true);
GRANT SELECT ON installation_freeze TO ade_app;

-- The gate of the whole installation: every permit passes it, and whoever freezes closes it behind
-- those that are on their way.
CREATE FUNCTION installation_gate() RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended('gate of the installation', 0);

-- For a permit, until the end of its transaction. What is read is read by a statement that begins
-- when the gate was passed. Runs as whoever calls it.
CREATE FUNCTION pass_installation_gate(
    OUT number bigint, OUT reason text, OUT set_by text, OUT set_at timestamptz)
    RETURNS SETOF record
    LANGUAGE plpgsql VOLATILE ROWS 1
AS $$
BEGIN
    RETURN QUERY SELECT f.number, f.reason, f.set_by, f.set_at
                   FROM public.installation_freeze f WHERE f.lifted_at IS NULL;
    IF FOUND THEN
        -- Whoever freezes may be waiting at the gate: nobody is kept behind them to hear the same.
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(public.installation_gate());
    RETURN QUERY SELECT f.number, f.reason, f.set_by, f.set_at
                   FROM public.installation_freeze f WHERE f.lifted_at IS NULL;
END
$$;
