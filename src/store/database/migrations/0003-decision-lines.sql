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

-- What is written to see whether anything can be written.
CREATE TABLE write_probe (
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (name)
);
