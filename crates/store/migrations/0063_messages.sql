-- why: people are told where they are, as they want it, and whoever is on duty comes first

CREATE TABLE notification_preference (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    -- Kinds of events, or patterns of them.
    mail text[] NOT NULL,
    slack text[] NOT NULL,
    slack_member text,
    quiet_zone text,
    quiet_from text,
    quiet_to text,
    digest_s integer NOT NULL,
    version bigint NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT notification_preference_pkey PRIMARY KEY (tenant_id, user_id),
    CONSTRAINT notification_preference_is_of_somebody FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT notification_preference_is_bounded CHECK (
        cardinality(mail) <= 64 AND cardinality(slack) <= 64),
    CONSTRAINT notification_preference_quiet_is_whole CHECK (
        num_nonnulls(quiet_zone, quiet_from, quiet_to) IN (0, 3)),
    CONSTRAINT notification_preference_digest_is_natural CHECK (digest_s BETWEEN 0 AND 86400),
    CONSTRAINT notification_preference_counts_from_one CHECK (version >= 1)
);

-- What somebody is to be told on one channel; several of them go in one message.
CREATE TABLE message_item (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    channel text NOT NULL,
    -- Of the event it tells of.
    seq bigint NOT NULL,
    kind text NOT NULL,
    task_id uuid NOT NULL,
    at timestamptz NOT NULL,
    state text NOT NULL,
    ended_at timestamptz,
    CONSTRAINT message_item_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT message_item_is_for_somebody FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT message_item_task_exists FOREIGN KEY (tenant_id, task_id)
        REFERENCES task (tenant_id, id) ON DELETE CASCADE,
    -- However often an event is read.
    CONSTRAINT message_item_is_told_once UNIQUE (tenant_id, user_id, channel, seq),
    CONSTRAINT message_item_channel_is_known CHECK (channel IN ('mail', 'slack')),
    CONSTRAINT message_item_state_is_known CHECK (state IN ('waiting', 'sent', 'dead')),
    CONSTRAINT message_item_ends_once CHECK ((state = 'waiting') = (ended_at IS NULL))
) WITH (fillfactor = 80);
CREATE INDEX message_item_waiting ON message_item (tenant_id, user_id, channel, seq)
    WHERE state = 'waiting';
CREATE INDEX message_item_of_task ON message_item (tenant_id, task_id);

-- How somebody is reached on one channel.
CREATE TABLE message_channel (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    channel text NOT NULL,
    sent_at timestamptz,
    -- Failures in a row.
    tries integer NOT NULL,
    problem text,
    -- Who sends now, and until when nobody else does.
    sender uuid,
    sending_until timestamptz,
    CONSTRAINT message_channel_pkey PRIMARY KEY (tenant_id, user_id, channel),
    CONSTRAINT message_channel_is_of_somebody FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT message_channel_tries_are_natural CHECK (tries >= 0),
    CONSTRAINT message_channel_is_sent_by_somebody CHECK (
        (sender IS NULL) = (sending_until IS NULL))
) WITH (fillfactor = 50);

CREATE TABLE on_call (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    role text NOT NULL,
    user_id uuid NOT NULL,
    starts_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL,
    set_by uuid NOT NULL,
    set_at timestamptz NOT NULL,
    CONSTRAINT on_call_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT on_call_is_somebody FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT on_call_is_set_by_somebody FOREIGN KEY (tenant_id, set_by)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT on_call_ends_after_it_starts CHECK (starts_at < ends_at),
    CONSTRAINT on_call_role_is_short CHECK (octet_length(role) BETWEEN 1 AND 128)
);
CREATE INDEX on_call_of_role ON on_call (tenant_id, role, ends_at);

SELECT keep_to_tenant('notification_preference'), keep_to_tenant('message_item'),
       keep_to_tenant('message_channel'), keep_to_tenant('on_call');
GRANT SELECT, INSERT, UPDATE ON notification_preference, message_item, message_channel TO ade_app;
GRANT SELECT, INSERT, DELETE ON on_call TO ade_app;

-- Whom a role reaches at a moment: those on duty who hold it, or all who hold it if nobody is. A
-- duty gives nobody a role.
CREATE FUNCTION reached_by_role(wanted text, moment timestamptz) RETURNS SETOF uuid
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, public, pg_temp
AS $$
    WITH holder AS (
        SELECT r.user_id FROM public.user_role r
          JOIN public.app_user u ON (u.tenant_id, u.id) = (r.tenant_id, r.user_id)
         WHERE r.tenant_id = public.current_tenant() AND r.role = wanted AND u.active),
    duty AS (
        SELECT h.user_id FROM holder h
          JOIN public.on_call o ON o.tenant_id = public.current_tenant()
           AND o.role = wanted AND o.user_id = h.user_id
         WHERE o.starts_at <= moment AND moment < o.ends_at)
    SELECT user_id FROM duty
     UNION
    SELECT user_id FROM holder WHERE NOT EXISTS (SELECT FROM duty)
$$;
REVOKE EXECUTE ON FUNCTION reached_by_role(text, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION reached_by_role(text, timestamptz) TO ade_app;
