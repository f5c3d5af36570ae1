-- why: a task shows who decided it, how and why, without a search in its votes
SET LOCAL lock_timeout = '1s';
SET LOCAL statement_timeout = '5s';

ALTER TABLE task ADD COLUMN decision json;
