-- What model providers refuse until a reset time. `limit_window` is JSON.
CREATE TABLE limit_windows (
    resource TEXT PRIMARY KEY,
    until INTEGER NOT NULL,
    limit_window TEXT NOT NULL
);
CREATE INDEX limit_windows_by_end ON limit_windows (until);

-- Tasks that wait for one of them.
CREATE TABLE limit_waiters (
    task_id TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    resource TEXT NOT NULL,
    since INTEGER NOT NULL
);
CREATE INDEX limit_waiters_by_resource ON limit_waiters (resource, since, task_id);
