-- why: a change that makes approvals easier waits for a second admin
SET LOCAL lock_timeout = '1s';
SET LOCAL statement_timeout = '5s';

-- A proposed change to the rules, with the consequences that its proposer and its publisher saw.
CREATE TABLE pending_change (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    -- What the change is about, for people: a person, a resource, a setting.
    object text NOT NULL,
    command json NOT NULL,
    verdict text NOT NULL,
    findings json NOT NULL,
    -- Recent tasks that would have needed fewer people.
    evidence json NOT NULL,
    reason text,
    proposed_by uuid NOT NULL,
    proposed_at timestamptz NOT NULL,
    -- When it takes effect without a second admin; only in a tenant with one admin.
    takes_effect_at timestamptz,
    outcome text,
    -- NULL if it took effect on time.
    closed_by uuid,
    closed_at timestamptz,
    objection text,
    CONSTRAINT pending_change_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT pending_change_proposer_exists FOREIGN KEY (tenant_id, proposed_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT pending_change_closer_exists FOREIGN KEY (tenant_id, closed_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT pending_change_verdict_is_known CHECK (verdict IN ('looser', 'mixed')),
    CONSTRAINT pending_change_outcome_is_known CHECK (
        outcome IN ('published', 'withdrawn', 'objected', 'applied', 'outdated')),
    CONSTRAINT pending_change_is_closed_once CHECK (num_nonnulls(outcome, closed_at) IN (0, 2)),
    CONSTRAINT pending_change_is_closed_by_a_person CHECK (
        outcome IS NULL OR (closed_by IS NULL) = (outcome IN ('applied', 'outdated'))),
    CONSTRAINT pending_change_texts_are_bounded CHECK (
        octet_length(kind) <= 64 AND octet_length(object) <= 1024
        AND octet_length(reason) <= 4096 AND octet_length(objection) <= 4096)
);
CREATE INDEX pending_change_open ON pending_change (tenant_id, id) WHERE closed_at IS NULL;
SELECT keep_to_tenant('pending_change');
GRANT SELECT, INSERT, UPDATE ON pending_change TO ade_app;

-- While it is NULL, the tenant is in setup: one admin changes the rules without a second one.
ALTER TABLE tenant ADD COLUMN setup_ended_at timestamptz;
GRANT UPDATE (setup_ended_at) ON tenant TO ade_app;
CREATE TRIGGER rulebook_sees_update AFTER UPDATE ON tenant
    REFERENCING OLD TABLE AS former NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION bump_rulebook();

-- Setup ends once and does not begin again.
CREATE FUNCTION refuse_second_setup() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'the setup of a tenant ends once' USING ERRCODE = 'check_violation';
END
$$;
REVOKE EXECUTE ON FUNCTION refuse_second_setup() FROM PUBLIC;
CREATE TRIGGER tenant_setup_ends_once BEFORE UPDATE OF setup_ended_at ON tenant
    FOR EACH ROW WHEN (old.setup_ended_at IS NOT NULL) EXECUTE FUNCTION refuse_second_setup();
