-- why: an event reaches every endpoint that asked for it at least once, whatever fails in between

CREATE TABLE webhook_delivery (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    -- The same in every try, and for every endpoint that hears of the event.
    event_id text NOT NULL,
    -- Of the event in its tenant; nothing for a ping.
    seq bigint,
    kind text NOT NULL,
    object text NOT NULL,
    body text NOT NULL,
    -- `waiting`: an earlier event of the same object is not done with yet.
    state text NOT NULL,
    tries integer NOT NULL DEFAULT 0,
    next_at timestamptz NOT NULL,
    -- Who sends it now, and until when nobody else does.
    sender uuid,
    sending_until timestamptz,
    -- What came of the last try.
    status integer,
    excerpt text,
    problem text,
    created_at timestamptz NOT NULL,
    -- Later than that if it was sent again by hand.
    queued_at timestamptz NOT NULL,
    tried_at timestamptz,
    ended_at timestamptz,
    CONSTRAINT webhook_delivery_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT webhook_delivery_is_for_an_endpoint FOREIGN KEY (tenant_id, endpoint_id)
        REFERENCES webhook_endpoint (tenant_id, id),
    -- However often the same events are read, each makes one.
    CONSTRAINT webhook_delivery_is_made_once UNIQUE (tenant_id, endpoint_id, seq),
    CONSTRAINT webhook_delivery_state_is_known CHECK (
        state IN ('waiting', 'pending', 'delivered', 'dead')),
    CONSTRAINT webhook_delivery_ends_once CHECK (
        (state IN ('delivered', 'dead')) = (ended_at IS NOT NULL)),
    CONSTRAINT webhook_delivery_is_sent_by_somebody CHECK (
        (sender IS NULL) = (sending_until IS NULL)),
    CONSTRAINT webhook_delivery_is_sent_when_its_turn_comes CHECK (
        sender IS NULL OR state = 'pending'),
    CONSTRAINT webhook_delivery_tries_are_natural CHECK (tries >= 0)
) WITH (fillfactor = 70);
CREATE INDEX webhook_delivery_next ON webhook_delivery (tenant_id, endpoint_id, next_at)
    WHERE state = 'pending' AND sending_until IS NULL;
CREATE INDEX webhook_delivery_sending ON webhook_delivery (tenant_id, sending_until)
    WHERE sending_until IS NOT NULL;
CREATE INDEX webhook_delivery_in_line ON webhook_delivery (tenant_id, endpoint_id, object, seq)
    WHERE state IN ('waiting', 'pending');
-- What has lain for too long, of one endpoint.
CREATE INDEX webhook_delivery_open ON webhook_delivery (tenant_id, endpoint_id, queued_at)
    WHERE state IN ('waiting', 'pending');
CREATE INDEX webhook_delivery_of_endpoint ON webhook_delivery (tenant_id, endpoint_id, id);
CREATE INDEX webhook_delivery_ended ON webhook_delivery (tenant_id, ended_at)
    WHERE ended_at IS NOT NULL;

SELECT keep_to_tenant('webhook_delivery');
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_delivery TO ade_app;

-- Whose deliveries have been kept long enough; no more than their ids is told across tenants.
CREATE FUNCTION tenants_with_old_deliveries(until timestamptz, most integer)
    RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT t.tenant_id
      FROM public.tenant t
     WHERE EXISTS (SELECT FROM public.webhook_delivery d
                    WHERE d.tenant_id = t.tenant_id AND d.ended_at <= until)
     ORDER BY t.tenant_id
     LIMIT least(most, 1000)
$$;
REVOKE EXECUTE ON FUNCTION tenants_with_old_deliveries(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenants_with_old_deliveries(timestamptz, integer) TO ade_worker;

-- How many endpoints are left alone in the whole installation: for metrics, which are of no tenant.
CREATE INDEX webhook_circuit_open ON webhook_circuit (open_until) WHERE open_until IS NOT NULL;
CREATE FUNCTION open_webhook_circuits() RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT count(*) FROM public.webhook_circuit c
      JOIN public.webhook_endpoint e ON (e.tenant_id, e.id) = (c.tenant_id, c.endpoint_id)
     WHERE c.open_until > public.moment() AND e.state = 'active' AND e.deleted_at IS NULL
$$;
REVOKE EXECUTE ON FUNCTION open_webhook_circuits() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION open_webhook_circuits() TO ade_worker;

-- These functions run as the owner, whom FORCE binds too.
CREATE POLICY owner_counts ON webhook_circuit FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY owner_counts ON webhook_endpoint FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY owner_looks_for_old ON webhook_delivery FOR SELECT TO CURRENT_USER USING (true);
