-- What a conversation is kept in. `changes` is what every writer touches first, so that they take turns.
CREATE TABLE context (
    id TEXT NOT NULL,
    owner TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    status TEXT NOT NULL,
    parent TEXT,
    details TEXT NOT NULL,
    newest_task BIGINT,
    changes BIGINT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX context_owner ON context (owner, newest_task);
CREATE INDEX context_newest_task ON context (newest_task);

-- A task of A2A. Its number is its place in the order in which all tasks were created.
CREATE TABLE context_task (
    number BIGINT NOT NULL,
    context TEXT NOT NULL,
    id TEXT NOT NULL,
    state TEXT NOT NULL,
    status_message TEXT,
    messages BIGINT NOT NULL,
    artifacts BIGINT NOT NULL,
    PRIMARY KEY (number),
    UNIQUE (context, id),
    FOREIGN KEY (context) REFERENCES context (id) ON DELETE CASCADE
);

CREATE INDEX context_task_order ON context_task (context, number);
CREATE INDEX context_task_id ON context_task (id);

-- What was said in a task, one row a message: more is added without touching what is there.
CREATE TABLE context_message (
    task BIGINT NOT NULL,
    number BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (task, number),
    FOREIGN KEY (task) REFERENCES context_task (number) ON DELETE CASCADE
);

-- What came of a task.
CREATE TABLE context_artifact (
    task BIGINT NOT NULL,
    number BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (task, number),
    FOREIGN KEY (task) REFERENCES context_task (number) ON DELETE CASCADE
);

-- The last number that was given.
CREATE TABLE context_count (
    name TEXT NOT NULL,
    last BIGINT NOT NULL,
    PRIMARY KEY (name)
);

-- Where agents of Aletheia keep which context and task they were in.
CREATE TABLE aletheia_context (
    key TEXT NOT NULL,
    context_id TEXT,
    task_id TEXT,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (key)
);
