-- What tasks are found by besides their own row: the user, the task that delegated to it, and what whoever began it wrote on
-- it. Written when the task begins, and never changed.
CREATE TABLE task_label (
    owner TEXT NOT NULL,
    task TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (owner, task, kind, key),
    FOREIGN KEY (owner, task) REFERENCES task (owner, id) ON DELETE CASCADE
);

CREATE INDEX task_by_label ON task_label (owner, kind, key, value, task);

CREATE INDEX task_by_agent ON task (owner, agent, id);

-- Most tasks are active, and stay so from step to step: those are not in it, so that their steps do not write it.
CREATE INDEX task_by_state ON task (owner, state, id) WHERE state <> 'active';
