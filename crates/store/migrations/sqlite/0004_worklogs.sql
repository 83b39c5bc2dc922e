-- What workers wrote down, line by line as it stands in the task's file. `bytes` are those of the file up to here.
CREATE TABLE worklog_lines (
    task_id TEXT NOT NULL REFERENCES tasks (id),
    number INTEGER NOT NULL,
    run_id TEXT NOT NULL REFERENCES runs (id),
    token INTEGER,
    line TEXT NOT NULL,
    digest TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    appended_at INTEGER NOT NULL,
    PRIMARY KEY (task_id, number)
) WITHOUT ROWID;
CREATE INDEX worklog_lines_of_run ON worklog_lines (run_id, task_id, number);

-- Ledgers that came from elsewhere. `fencing` is the highest token that each had there.
CREATE TABLE handoffs (
    run_id TEXT PRIMARY KEY REFERENCES runs (id),
    digest TEXT NOT NULL,
    fencing INTEGER NOT NULL,
    taken_at INTEGER NOT NULL
);
