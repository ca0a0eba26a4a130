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
