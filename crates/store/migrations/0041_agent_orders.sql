-- why: a person takes work away from an agent, and whether it is there follows from its heartbeats

-- Part of the rulebook: a permit asks it. `status` stays what others were last told.
ALTER TABLE agent ADD COLUMN standing_order text,
    ADD CONSTRAINT agent_order_is_known CHECK (standing_order IN ('drain', 'pause'));

-- Moved by the heartbeat that moves `lease_until`, and by nothing else: a session that lives and
-- dies with one lease says nothing of its process.
ALTER TABLE agent_session ADD COLUMN seen_at timestamptz,
    ADD COLUMN load integer,
    ADD CONSTRAINT agent_session_load_is_in_range CHECK (load BETWEEN 0 AND 10000);
CREATE INDEX agent_session_seen ON agent_session (tenant_id, agent_id, seen_at)
    WHERE seen_at IS NOT NULL;
