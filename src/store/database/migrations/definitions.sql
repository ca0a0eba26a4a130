-- definition of aletheia_context
CREATE TABLE aletheia_context (
    key TEXT NOT NULL,
    context_id TEXT,
    task_id TEXT,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (key)
);
-- definition of celador_schema
CREATE TABLE celador_schema (
    number BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    digest TEXT NOT NULL
);
-- definition of context
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
-- definition of context_artifact
CREATE TABLE context_artifact (
    task BIGINT NOT NULL,
    number BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (task, number),
    FOREIGN KEY (task) REFERENCES context_task (number) ON DELETE CASCADE
);
-- definition of context_count
CREATE TABLE context_count (
    name TEXT NOT NULL,
    last BIGINT NOT NULL,
    PRIMARY KEY (name)
);
-- definition of context_message
CREATE TABLE context_message (
    task BIGINT NOT NULL,
    number BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (task, number),
    FOREIGN KEY (task) REFERENCES context_task (number) ON DELETE CASCADE
);
-- definition of context_newest_task
CREATE INDEX context_newest_task ON context (newest_task);
-- definition of context_owner
CREATE INDEX context_owner ON context (owner, newest_task);
-- definition of context_task
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
-- definition of context_task_id
CREATE INDEX context_task_id ON context_task (id);
-- definition of context_task_order
CREATE INDEX context_task_order ON context_task (context, number);
-- definition of counter
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
-- definition of counter_hold
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
-- definition of counter_hold_by_counter
CREATE INDEX counter_hold_by_counter ON counter_hold (owner, policy, name, key);
-- definition of decision_line
CREATE TABLE decision_line (
    log TEXT NOT NULL,
    number BIGINT NOT NULL,
    owner TEXT NOT NULL,
    task TEXT NOT NULL,
    version BIGINT NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (log, number)
);
-- definition of decision_log
CREATE TABLE decision_log (
    log TEXT NOT NULL,
    turns BIGINT NOT NULL,
    PRIMARY KEY (log)
);
-- definition of manifest_set
CREATE TABLE manifest_set (
    digest TEXT NOT NULL,
    content TEXT NOT NULL,
    content_digest TEXT NOT NULL,
    PRIMARY KEY (digest)
);
-- definition of review
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
-- definition of review_by_change
CREATE INDEX review_by_change ON review (changed);
-- definition of review_by_expiry
CREATE INDEX review_by_expiry ON review (state, expires_at);
-- definition of review_by_owner
CREATE INDEX review_by_owner ON review (owner, state, number);
-- definition of review_by_reviewer
CREATE INDEX review_by_reviewer ON review (reviewer, state, number);
-- definition of review_by_state
CREATE INDEX review_by_state ON review (state, number);
-- definition of review_count
CREATE TABLE review_count (
    name TEXT NOT NULL,
    last BIGINT NOT NULL,
    PRIMARY KEY (name)
);
-- definition of switch_turn
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
-- definition of task
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
-- definition of task_answer
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
-- definition of task_by_agent
CREATE INDEX task_by_agent ON task (owner, agent, id);
-- definition of task_by_label
CREATE INDEX task_by_label ON task_label (owner, kind, key, value, task);
-- definition of task_by_start
CREATE INDEX task_by_start ON task (owner, id, started_at);
-- definition of task_by_state
CREATE INDEX task_by_state ON task (owner, state, id) WHERE state <> 'active';
-- definition of task_event
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
-- definition of task_label
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
-- definition of task_policy
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
-- definition of task_policy_by_manifests
CREATE INDEX task_policy_by_manifests ON task_policy (manifests);
-- definition of task_snapshot
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
-- definition of task_tombstone
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
-- definition of write_probe
CREATE TABLE write_probe (
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (name)
);
