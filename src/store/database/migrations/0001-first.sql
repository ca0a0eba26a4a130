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

-- Events of tasks, one row an operation: its decision and its change.
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

-- Answers to requests that may be sent again. That of a creation belongs to no task.
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

-- Contexts of conversations. Every writer updates `changes` first, so that writers take turns.
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

-- Messages of a task of A2A, one row each: a new one changes no other row.
CREATE TABLE context_message (
    task BIGINT NOT NULL,
    number BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (task, number),
    FOREIGN KEY (task) REFERENCES context_task (number) ON DELETE CASCADE
);

-- Artifacts of a task of A2A.
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

-- Decisions that a decision log must hold, written with the decision itself: a process that dies before its log has the
-- line finds it here when it starts again. The oldest go when the log has them on disk.
CREATE TABLE decision_line (
    log TEXT NOT NULL,
    number BIGINT NOT NULL,
    owner TEXT NOT NULL,
    task TEXT NOT NULL,
    version BIGINT NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (log, number)
);

-- A row that a readiness check writes.
CREATE TABLE write_probe (
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (name)
);

-- Tombstones of purged tasks: their ids are never used again.
CREATE TABLE task_tombstone (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    agent TEXT NOT NULL,
    state TEXT NOT NULL,
    started_at TEXT NOT NULL,
    changed_at TEXT NOT NULL,
    events BIGINT NOT NULL,
    chain TEXT NOT NULL,
    purged_at TEXT NOT NULL,
    purged_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (owner, id)
);

-- Every turn of an operator's switch: who, when and why. What is on is what was turned on last and not off since.
CREATE TABLE switch_turn (
    number BIGINT NOT NULL,
    at TEXT NOT NULL,
    who TEXT NOT NULL,
    turned TEXT NOT NULL,
    subject TEXT NOT NULL,
    reason TEXT NOT NULL,
    chain TEXT NOT NULL,
    PRIMARY KEY (number)
);

-- Up to which turn of a switch a decision log has been told: the lines are in it, or wait in decision_line.
CREATE TABLE decision_log (
    log TEXT NOT NULL,
    turns BIGINT NOT NULL,
    PRIMARY KEY (log)
);

-- The texts of manifests that tasks are under, once for each set, by the digest of the set.
CREATE TABLE manifest_set (
    digest TEXT NOT NULL,
    content TEXT NOT NULL,
    content_digest TEXT NOT NULL,
    PRIMARY KEY (digest)
);

-- The policy that a task is under, the manifests that it was made of, and what an operator has decided about it last.
CREATE TABLE task_policy (
    owner TEXT NOT NULL,
    task TEXT NOT NULL,
    manifest TEXT NOT NULL,
    manifests TEXT,
    decision TEXT NOT NULL,
    decided_at TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (owner, task),
    FOREIGN KEY (owner, task) REFERENCES task (owner, id) ON DELETE CASCADE,
    FOREIGN KEY (manifests) REFERENCES manifest_set (digest)
);

CREATE INDEX task_policy_by_manifests ON task_policy (manifests);

-- Reviews and their answers: one row a review, written with the event that opens or closes it. `number` is its
-- place in the order in which reviews were asked, `changed` in the order in which reviews changed.
CREATE TABLE review (
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    task TEXT NOT NULL,
    question BIGINT NOT NULL,
    state TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    namespace TEXT NOT NULL,
    agent TEXT NOT NULL,
    user_id TEXT NOT NULL,
    asked_at TEXT NOT NULL,
    expires_at TEXT,
    version BIGINT NOT NULL,
    number BIGINT NOT NULL,
    changed BIGINT NOT NULL,
    content TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (owner, task, question),
    FOREIGN KEY (owner, task) REFERENCES task (owner, id) ON DELETE CASCADE
);

CREATE INDEX review_by_state ON review (state, number);
CREATE INDEX review_by_reviewer ON review (reviewer, state, number);
CREATE INDEX review_by_owner ON review (owner, state, number);
CREATE INDEX review_by_expiry ON review (state, expires_at);
CREATE INDEX review_by_change ON review (changed);

-- The number of the last change of a review, and how far somebody who passes changes on has come.
CREATE TABLE review_count (
    name TEXT NOT NULL,
    last BIGINT NOT NULL,
    PRIMARY KEY (name)
);

-- Labels by which tasks are found besides their own row: the user, the task that delegated to it, and its metadata. Written when the
-- task begins, and never changed.
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

-- When a task began, in the order in which lists have tasks: a list of those of some time passes the others over without reading
-- their rows. Neither column ever changes, so steps do not write it.
CREATE INDEX task_by_start ON task (owner, id, started_at);

-- Amounts that count across tasks: one row a counter, for each owner. `span` is the window, `version` how often it was
-- reserved, `spent` pairs of milliseconds since 1970 and an amount as JSON, `held` the sum of its holds, `over_at` the
-- millisecond from which nothing of it counts any more.
CREATE TABLE counter (
    owner TEXT NOT NULL,
    policy TEXT NOT NULL,
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    span TEXT NOT NULL,
    version BIGINT NOT NULL,
    spent TEXT NOT NULL,
    held TEXT NOT NULL,
    over_at BIGINT,
    digest TEXT NOT NULL,
    PRIMARY KEY (owner, policy, name, key)
);

-- Amounts that calls under way hold, written with the event that lets them through or asks for a review. No task goes and
-- leaves one behind.
CREATE TABLE counter_hold (
    owner TEXT NOT NULL,
    task TEXT NOT NULL,
    call_id TEXT NOT NULL,
    policy TEXT NOT NULL,
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    amount TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (owner, task, call_id, policy, name, key),
    FOREIGN KEY (owner, task) REFERENCES task (owner, id)
);

CREATE INDEX counter_hold_by_counter ON counter_hold (owner, policy, name, key);
