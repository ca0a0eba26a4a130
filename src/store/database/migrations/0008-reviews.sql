-- What people are asked, and what they said: one row a review, written with the event that opens or closes it. `number` is its
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
