-- why: whoever has stolen a session must not decide what weighs: a key of the person's own does

CREATE TABLE passkey (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    name text NOT NULL,
    -- What the authenticator calls it.
    credential bytea NOT NULL,
    -- By its number in COSE; the key itself as X.509 writes it.
    algorithm integer NOT NULL,
    public_key bytea NOT NULL,
    counter bigint NOT NULL,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz,
    -- The row stays: with it, old words can still be verified.
    removed_at timestamptz,
    CONSTRAINT passkey_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT passkey_is_of_a_user FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT passkey_is_known_once UNIQUE (tenant_id, credential),
    CONSTRAINT passkey_name_is_short CHECK (octet_length(name) BETWEEN 1 AND 128),
    CONSTRAINT passkey_credential_is_short CHECK (octet_length(credential) BETWEEN 1 AND 1023),
    CONSTRAINT passkey_key_is_short CHECK (octet_length(public_key) BETWEEN 1 AND 4096),
    CONSTRAINT passkey_counter_has_32_bits CHECK (counter BETWEEN 0 AND 4294967295)
);
CREATE INDEX passkey_of_user ON passkey (tenant_id, user_id) WHERE removed_at IS NULL;

-- A question to a new key, until it is answered; a new question of the same person takes its place.
-- No part of the record.
CREATE TABLE passkey_offer (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    -- The session or token that asked, and alone may answer.
    key_id text NOT NULL,
    name text NOT NULL,
    challenge bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT passkey_offer_pkey PRIMARY KEY (tenant_id, user_id),
    CONSTRAINT passkey_offer_is_of_a_user FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT passkey_offer_name_is_short CHECK (octet_length(name) BETWEEN 1 AND 128),
    CONSTRAINT passkey_offer_challenge_is_sha256 CHECK (octet_length(challenge) = 32)
) WITH (fillfactor = 50);

-- A passkey's word for one decision: asked for, given, used once. What was signed is the hash of
-- subject and nonce, so whoever reads the row can verify what the word was for.
CREATE TABLE step_up (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    key_id text NOT NULL,
    purpose text NOT NULL,
    subject bytea NOT NULL,
    nonce bytea NOT NULL,
    asked_at timestamptz NOT NULL,
    passkey_id uuid,
    client_data bytea,
    authenticator_data bytea,
    signature bytea,
    given_at timestamptz,
    used_at timestamptz,
    CONSTRAINT step_up_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT step_up_is_of_a_user FOREIGN KEY (tenant_id, user_id)
        REFERENCES app_user (tenant_id, id),
    CONSTRAINT step_up_is_given_by_a_passkey FOREIGN KEY (tenant_id, passkey_id)
        REFERENCES passkey (tenant_id, id),
    CONSTRAINT step_up_purpose_is_short CHECK (octet_length(purpose) BETWEEN 1 AND 32),
    CONSTRAINT step_up_hashes_are_sha256 CHECK (
        octet_length(subject) = 32 AND octet_length(nonce) = 32),
    CONSTRAINT step_up_is_given_whole CHECK (
        num_nonnulls(passkey_id, client_data, authenticator_data, signature, given_at) IN (0, 5)),
    CONSTRAINT step_up_parts_are_short CHECK (
        coalesce(octet_length(client_data), 0) <= 4096
        AND coalesce(octet_length(authenticator_data), 0) <= 4096
        AND coalesce(octet_length(signature), 0) <= 4096),
    CONSTRAINT step_up_is_given_in_time CHECK (
        given_at BETWEEN asked_at AND asked_at + interval '5 minutes'),
    CONSTRAINT step_up_is_used_in_time CHECK (
        used_at IS NULL
        OR (given_at IS NOT NULL AND used_at BETWEEN given_at AND given_at + interval '5 minutes'))
);
CREATE INDEX step_up_open ON step_up (tenant_id, user_id, asked_at) WHERE used_at IS NULL;

SELECT keep_to_tenant('passkey'), keep_to_tenant('passkey_offer'), keep_to_tenant('step_up');
GRANT SELECT, INSERT, UPDATE ON passkey TO ade_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON passkey_offer, step_up TO ade_app;

-- What somebody has decided by stays as it was.
CREATE POLICY used_is_not_changed ON step_up AS RESTRICTIVE FOR UPDATE USING (used_at IS NULL)
    WITH CHECK (true);
CREATE POLICY used_is_not_deleted ON step_up AS RESTRICTIVE FOR DELETE USING (used_at IS NULL);
