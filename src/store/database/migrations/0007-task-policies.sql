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
