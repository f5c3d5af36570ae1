-- why: attempts, reports and events use one vocabulary for the outcome of an attempt
SET LOCAL lock_timeout = '1s';
SET LOCAL statement_timeout = '5s';

-- The previous release writes the first three words; a later migration removes them.
-- squawk-ignore ban-drop-constraint
ALTER TABLE execution DROP CONSTRAINT execution_result_is_known;
ALTER TABLE execution ADD CONSTRAINT execution_result_is_known CHECK (result IN (
    'success', 'failure', 'timeout',
    'succeeded', 'failed', 'timed_out', 'cancelled', 'unknown', 'drifted', 'lost')) NOT VALID;
