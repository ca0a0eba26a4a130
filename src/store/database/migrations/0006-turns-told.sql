-- Up to which turn of a switch a decision log has been told: the lines are in it, or wait in decision_line.
CREATE TABLE decision_log (
    log TEXT NOT NULL,
    turns BIGINT NOT NULL,
    PRIMARY KEY (log)
);
