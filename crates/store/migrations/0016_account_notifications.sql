-- why: people are notified of changes to their account, which belong to no task
SET LOCAL lock_timeout = '1s';
SET LOCAL statement_timeout = '5s';

-- What changed in the account of the recipient; absent if the notification is about a task.
ALTER TABLE notification ADD COLUMN detail text;
-- No release reads these tables yet, so none has to expect a missing task.
-- squawk-ignore ban-drop-not-null
ALTER TABLE notification ALTER COLUMN task_id DROP NOT NULL;
ALTER TABLE notification ADD CONSTRAINT notification_has_one_subject CHECK (
    num_nonnulls(task_id, detail) = 1 AND octet_length(detail) <= 2048) NOT VALID;

-- Such an item has no event and therefore no number.
ALTER TABLE message_item ADD COLUMN detail text;
-- squawk-ignore ban-drop-not-null
ALTER TABLE message_item ALTER COLUMN task_id DROP NOT NULL;
-- squawk-ignore ban-drop-not-null
ALTER TABLE message_item ALTER COLUMN seq DROP NOT NULL;
ALTER TABLE message_item ADD CONSTRAINT message_item_has_one_subject CHECK (
    num_nonnulls(task_id, detail) = 1 AND octet_length(detail) <= 2048
    AND num_nonnulls(seq, detail) = 1) NOT VALID;
