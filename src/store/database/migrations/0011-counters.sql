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

-- What calls hold that are under way, written with the event that lets them through or asks for a review. No task goes and
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
