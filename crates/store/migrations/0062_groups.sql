-- why: an event that a group cannot take holds up nothing for ever, and is not lost either

-- Where a group stands still, and why. Up to `singly_until` it takes one event after the other, so
-- that it shows which of them it is.
CREATE TABLE consumer_trouble (
    tenant_id uuid NOT NULL,
    consumer text NOT NULL,
    tenant_seq bigint NOT NULL,
    singly_until bigint NOT NULL,
    tries integer NOT NULL,
    problem text NOT NULL,
    since timestamptz NOT NULL,
    next_at timestamptz NOT NULL,
    CONSTRAINT consumer_trouble_pkey PRIMARY KEY (tenant_id, consumer),
    CONSTRAINT consumer_trouble_is_of_a_tenant FOREIGN KEY (tenant_id)
        REFERENCES tenant (tenant_id),
    CONSTRAINT consumer_trouble_tries_are_natural CHECK (tries >= 0),
    CONSTRAINT consumer_trouble_problem_is_bounded CHECK (octet_length(problem) <= 2048)
) WITH (fillfactor = 50);

-- The whole event, since the outbox does not keep it for ever.
CREATE TABLE dead_event (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    consumer text NOT NULL,
    tenant_seq bigint NOT NULL,
    event_id uuid NOT NULL,
    kind text NOT NULL,
    object text NOT NULL,
    version bigint,
    actor text,
    at timestamptz NOT NULL,
    payload text NOT NULL,
    -- `redriving`: an operator has asked for another try. `taken`: it was taken then.
    state text NOT NULL,
    tries integer NOT NULL,
    problem text NOT NULL,
    died_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT dead_event_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT dead_event_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT dead_event_dies_once UNIQUE (tenant_id, consumer, tenant_seq),
    CONSTRAINT dead_event_state_is_known CHECK (state IN ('dead', 'redriving', 'taken')),
    CONSTRAINT dead_event_was_tried CHECK (tries >= 1),
    CONSTRAINT dead_event_problem_is_bounded CHECK (octet_length(problem) <= 2048)
) WITH (fillfactor = 80);
CREATE INDEX dead_event_of_group ON dead_event (tenant_id, consumer, id) WHERE state = 'dead';

-- What left the installation, batch by batch: which events, where to, and the hash of what was
-- written there.
CREATE TABLE export_batch (
    tenant_id uuid NOT NULL,
    consumer text NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    sink text NOT NULL,
    sha256 bytea NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT export_batch_pkey PRIMARY KEY (tenant_id, consumer, first_seq),
    CONSTRAINT export_batch_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT export_batch_is_in_order CHECK (first_seq BETWEEN 1 AND last_seq),
    CONSTRAINT export_batch_hash_is_sha256 CHECK (octet_length(sha256) = 32),
    CONSTRAINT export_batch_sink_is_short CHECK (octet_length(sink) BETWEEN 1 AND 512)
);

SELECT keep_to_tenant('consumer_trouble'), keep_to_tenant('dead_event'),
       keep_to_tenant('export_batch');
GRANT SELECT, INSERT, UPDATE, DELETE ON consumer_trouble TO ade_app;
GRANT SELECT, INSERT, UPDATE ON dead_event TO ade_app;
GRANT SELECT, INSERT ON export_batch TO ade_app;

-- So many events of each kind in each hour, UTC: the rates of what happens. Folded with the cursor
-- of the group, so that each event counts once.
CREATE TABLE event_rate (
    tenant_id uuid NOT NULL,
    hour timestamptz NOT NULL,
    kind text COLLATE "C" NOT NULL,
    count bigint NOT NULL,
    CONSTRAINT event_rate_pkey PRIMARY KEY (tenant_id, hour, kind),
    CONSTRAINT event_rate_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT event_rate_counts_something CHECK (count >= 1)
) WITH (fillfactor = 80);
SELECT keep_to_tenant('event_rate');
GRANT SELECT, INSERT, UPDATE ON event_rate TO ade_app;
