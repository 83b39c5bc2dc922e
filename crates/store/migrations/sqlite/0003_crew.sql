-- The ledger of a run: its tasks, with what the operator contract knows of them besides.
CREATE TABLE ledgers (
    run_id TEXT PRIMARY KEY REFERENCES runs (id),
    version INTEGER NOT NULL
);

-- `row` is the operator's row as it was written last; `heard_…` is the last heartbeat on both clocks.
CREATE TABLE ledger_rows (
    task_id TEXT PRIMARY KEY REFERENCES tasks (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    reference TEXT NOT NULL,
    row TEXT NOT NULL,
    heard_at INTEGER,
    heard_boot_id TEXT,
    heard_boot_ms INTEGER,
    UNIQUE (run_id, reference)
);

-- The names of all deltas that were ever applied.
CREATE TABLE ledger_deltas (
    run_id TEXT NOT NULL REFERENCES runs (id),
    delta_id TEXT NOT NULL,
    digest TEXT,
    PRIMARY KEY (run_id, delta_id)
);

-- Locks, released ones included. `place` is the scope under its absolute name, `folded` the same without case.
CREATE TABLE locks (
    token INTEGER NOT NULL,
    scope TEXT NOT NULL,
    run_id TEXT NOT NULL REFERENCES runs (id),
    task_id TEXT NOT NULL REFERENCES tasks (id),
    reference TEXT NOT NULL,
    workspace TEXT NOT NULL,
    place TEXT NOT NULL,
    folded TEXT NOT NULL,
    mode TEXT NOT NULL,
    active INTEGER NOT NULL,
    timeout_ms INTEGER NOT NULL,
    lease_boot_id TEXT NOT NULL,
    lease_until INTEGER NOT NULL,
    granted_at INTEGER NOT NULL,
    released_at INTEGER,
    release_reason TEXT,
    PRIMARY KEY (token, scope)
);
CREATE INDEX locks_held ON locks (folded) WHERE active = 1;
CREATE INDEX locks_of_task ON locks (task_id, token);
CREATE INDEX locks_held_in_run ON locks (run_id, token) WHERE active = 1;
CREATE INDEX locks_of_run ON locks (run_id, token);

-- What was given out, under the token of its locks.
CREATE TABLE assignments (
    token INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (id),
    task_id TEXT NOT NULL REFERENCES tasks (id),
    packet TEXT NOT NULL,
    snapshot TEXT,
    ended TEXT,
    issued_at INTEGER NOT NULL,
    ended_at INTEGER
);
CREATE INDEX assignments_of_task ON assignments (task_id, token);
CREATE INDEX assignments_of_run ON assignments (run_id, token);

CREATE TABLE results (
    token INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (id),
    task_id TEXT NOT NULL REFERENCES tasks (id),
    status TEXT NOT NULL,
    result TEXT NOT NULL,
    checks TEXT NOT NULL,
    changes TEXT,
    accepted_at INTEGER NOT NULL
);
CREATE INDEX results_of_run ON results (run_id, token);
CREATE INDEX results_of_task ON results (task_id, token);

-- Why blocked tasks do not go on.
CREATE TABLE blockers (
    task_id TEXT PRIMARY KEY REFERENCES tasks (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    blocker TEXT NOT NULL,
    raised_at INTEGER NOT NULL
);
CREATE INDEX blockers_of_run ON blockers (run_id, task_id);

-- What a run may spend, in micro-USD and tokens.
CREATE TABLE budgets (
    run_id TEXT PRIMARY KEY REFERENCES runs (id),
    cost_limit INTEGER NOT NULL,
    tokens_limit INTEGER NOT NULL,
    cost_reserved INTEGER NOT NULL DEFAULT 0,
    tokens_reserved INTEGER NOT NULL DEFAULT 0,
    cost_spent INTEGER NOT NULL DEFAULT 0,
    tokens_spent INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE reservations (
    token INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES budgets (run_id),
    task_id TEXT NOT NULL REFERENCES tasks (id),
    cost INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    is_open INTEGER NOT NULL,
    cost_spent INTEGER,
    tokens_spent INTEGER
);
CREATE INDEX reservations_of_run ON reservations (run_id, token);
CREATE INDEX reservations_of_task ON reservations (task_id, token);

CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (id),
    task_id TEXT NOT NULL REFERENCES tasks (id),
    state TEXT NOT NULL,
    asked TEXT NOT NULL,
    decided_by TEXT,
    reason TEXT,
    used_by INTEGER,
    requested_at INTEGER NOT NULL
);
CREATE INDEX approvals_of_task ON approvals (task_id, id);
CREATE INDEX approvals_of_run ON approvals (run_id, id);
CREATE INDEX approvals_by_state ON approvals (state, id);
