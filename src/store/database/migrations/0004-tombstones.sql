-- What is left of a task that was purged, so that its id is never used again and everybody can see that it was there.
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
