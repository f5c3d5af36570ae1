-- why: a change that the host of an agent makes is released to the host, without a known result
SET LOCAL lock_timeout = '1s';
SET LOCAL statement_timeout = '5s';

ALTER TABLE task ADD COLUMN is_released boolean DEFAULT false NOT NULL;
-- squawk-ignore ban-drop-constraint
ALTER TABLE execution DROP CONSTRAINT execution_result_is_known;
ALTER TABLE execution ADD CONSTRAINT execution_result_is_known CHECK (result IN (
    'success', 'failure', 'timeout',
    'succeeded', 'failed', 'timed_out', 'cancelled', 'released_to_host',
    'unknown', 'drifted', 'lost')) NOT VALID;
