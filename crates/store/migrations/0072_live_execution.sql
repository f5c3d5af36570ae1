-- why: ending an attempt read all attempts of its tenant, as long as there were few when it was
-- planned: of indexes that are equally cheap the newest is taken, which was that of the ids

DROP INDEX execution_one_live_per_task;
-- Two workers, one task: the second is refused here, whatever it believes.
CREATE UNIQUE INDEX execution_one_live_per_task ON execution (tenant_id, task_id)
    WHERE ended_at IS NULL;
