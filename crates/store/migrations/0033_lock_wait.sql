-- why: a small installation has no Redis, so its queue is rows beside the truth

-- How many have come to stand in line in this epoch.
ALTER TABLE lock_epoch ADD COLUMN arrivals bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT lock_epoch_arrivals_are_natural CHECK (arrivals >= 0);

-- One request in line, whole. One that has ended stays for a moment, so that whoever waits for it
-- learns how. No part of the record: nobody commits because of it.
CREATE TABLE lock_wait (
    tenant_id uuid NOT NULL,
    lease_id uuid NOT NULL,
    state text NOT NULL,
    owner text NOT NULL,
    node text NOT NULL,
    born_at timestamptz NOT NULL,
    ttl interval NOT NULL,
    lock_delay interval NOT NULL,
    patience interval NOT NULL,
    boost integer NOT NULL,
    place bigint NOT NULL,
    arrival bigint NOT NULL,
    deadline timestamptz NOT NULL,
    resources text[] COLLATE "C" NOT NULL,
    modes text[] NOT NULL,
    capacities integer[] NOT NULL,
    CONSTRAINT lock_wait_pkey PRIMARY KEY (tenant_id, lease_id),
    CONSTRAINT lock_wait_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT lock_wait_state_is_known CHECK (
        state IN ('waiting', 'victim', 'released', 'timed_out')),
    CONSTRAINT lock_wait_is_of_one_length CHECK (
        cardinality(resources) BETWEEN 1 AND 66 AND cardinality(modes) = cardinality(resources)
        AND cardinality(capacities) = cardinality(resources))
) WITH (fillfactor = 50);
CREATE INDEX lock_wait_by_deadline ON lock_wait (tenant_id, deadline);
-- One wait at a time: with two, a grant could close a circle too.
CREATE UNIQUE INDEX lock_wait_of_an_owner ON lock_wait (tenant_id, owner)
    WHERE state = 'waiting';

-- When a caller has used up what it took so far, see `rate`.
CREATE TABLE lock_rate (
    tenant_id uuid NOT NULL,
    caller text NOT NULL,
    used_up timestamptz NOT NULL,
    CONSTRAINT lock_rate_pkey PRIMARY KEY (tenant_id, caller),
    CONSTRAINT lock_rate_is_of_a_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id),
    CONSTRAINT lock_rate_caller_is_short CHECK (octet_length(caller) BETWEEN 1 AND 128)
) WITH (fillfactor = 50);

SELECT keep_to_tenant('lock_wait'), keep_to_tenant('lock_rate');
GRANT SELECT, INSERT, UPDATE, DELETE ON lock_wait, lock_rate TO ade_app;
