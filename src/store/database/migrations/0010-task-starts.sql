-- When a task began, in the order in which lists have tasks: a list of those of some time passes the others over without reading
-- their rows. Neither column ever changes, so steps do not write it.
CREATE INDEX task_by_start ON task (owner, id, started_at);
