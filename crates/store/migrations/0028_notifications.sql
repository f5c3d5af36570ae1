-- why: time tells people things before anything carries it to them, and a review may get more time

ALTER TABLE task ADD COLUMN extended_to timestamptz;

CREATE TABLE notification (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT uuid_v7(),
    user_id uuid NOT NULL,
    task_id uuid NOT NULL,
    -- The name of the event it tells of.
    kind text NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT notification_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT notification_is_for_somebody FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT notification_task_exists FOREIGN KEY (tenant_id, task_id)
        REFERENCES task (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT notification_kind_is_short CHECK (octet_length(kind) BETWEEN 1 AND 64)
);
CREATE INDEX notification_of_user ON notification (tenant_id, user_id, id);
CREATE INDEX notification_of_task ON notification (tenant_id, task_id);

SELECT keep_to_tenant('notification');
GRANT SELECT, INSERT ON notification TO ade_app;
