-- A task is its events. The rest follows from them, and is kept so that nobody has to read them all.
CREATE TABLE task (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    agent TEXT NOT NULL,
    state TEXT NOT NULL,
    started_at TEXT NOT NULL,
    changed_at TEXT NOT NULL,
    version BIGINT NOT NULL,
    chain TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (owner, id)
);

-- What happened, one row an operation: what came of it, and what it changed.
CREATE TABLE task_event (
    owner TEXT NOT NULL,
    task TEXT NOT NULL,
    version BIGINT NOT NULL,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    decision TEXT,
    change TEXT NOT NULL,
    chain TEXT NOT NULL,
    PRIMARY KEY (owner, task, version),
    FOREIGN KEY (owner, task) REFERENCES task (owner, id) ON DELETE CASCADE
);

-- The whole of a task after one of its events: where reading it begins.
CREATE TABLE task_snapshot (
    owner TEXT NOT NULL,
    task TEXT NOT NULL,
    version BIGINT NOT NULL,
    saved TEXT NOT NULL,
    chain TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (owner, task),
    FOREIGN KEY (owner, task) REFERENCES task (owner, id) ON DELETE CASCADE
);

-- What was answered to a request that somebody may send again. That of a creation belongs to no task.
CREATE TABLE task_answer (
    owner TEXT NOT NULL,
    task TEXT NOT NULL,
    key TEXT NOT NULL,
    request TEXT NOT NULL,
    answer TEXT NOT NULL,
    at TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (owner, task, key)
);
