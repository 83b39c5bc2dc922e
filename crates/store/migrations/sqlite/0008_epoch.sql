-- The epoch of the store: one row, and none until the first halt.
CREATE TABLE epoch (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    number INTEGER NOT NULL,
    is_halted INTEGER NOT NULL,
    reason TEXT,
    decided_by TEXT NOT NULL,
    decided_at INTEGER NOT NULL
);

-- Programs of writ that work without a run of their own, such as loops. `process` is JSON.
CREATE TABLE programs (
    process TEXT PRIMARY KEY,
    command TEXT NOT NULL,
    started_at INTEGER NOT NULL
);
