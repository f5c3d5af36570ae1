-- why: one statement replaces the pins of a task, so those that stay are changed in their place

GRANT UPDATE ON task_policy_pin TO ade_app;
