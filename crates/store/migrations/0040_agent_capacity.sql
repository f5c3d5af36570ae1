-- why: a permit is given only to an agent that has room for one more, so its room must be a rule

-- Part of the rulebook, like everything of an agent but its status.
ALTER TABLE agent ADD COLUMN max_tasks integer NOT NULL DEFAULT 4,
    ADD CONSTRAINT agent_max_tasks_is_in_range CHECK (max_tasks BETWEEN 1 AND 10000);
