-- What model providers refuse until a reset time. `limit_window` is JSON.
CREATE TABLE limit_windows (
    resource TEXT PRIMARY KEY,
    until INTEGER NOT NULL,
    limit_window TEXT NOT NULL
);
CREATE INDEX limit_windows_by_end ON limit_windows (until);

-- Tasks that wait for one of them.
CREATE TABLE parked_tasks (
    task_id TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    resource TEXT NOT NULL,
    since INTEGER NOT NULL
);
CREATE INDEX parked_tasks_by_resource ON parked_tasks (resource, since, task_id);
