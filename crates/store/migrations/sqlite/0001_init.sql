-- The event log. `id` is the continuity contract's event number; `seq` counts within a stream.
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    stream TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL,
    event_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    sender TEXT NOT NULL,
    recipient TEXT NOT NULL,
    intent TEXT NOT NULL,
    corr TEXT NOT NULL,
    reply_to TEXT,
    priority TEXT NOT NULL,
    requires TEXT,
    payload TEXT NOT NULL,
    kind TEXT NOT NULL,
    agent TEXT NOT NULL,
    project_id TEXT,
    task_id TEXT,
    run_id TEXT,
    message TEXT NOT NULL,
    is_change INTEGER NOT NULL,
    UNIQUE (stream, seq)
);
CREATE UNIQUE INDEX events_by_event_id ON events (event_id);
CREATE INDEX events_by_corr ON events (corr, id);
CREATE INDEX events_by_task ON events (task_id, id) WHERE task_id IS NOT NULL;
CREATE INDEX events_by_agent ON events (agent, id);
CREATE INDEX events_by_kind ON events (kind, id);

-- Where each stream ends, and where it begins after its prefix was pruned.
CREATE TABLE heads (
    stream TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL,
    anchor_seq INTEGER NOT NULL,
    anchor_hash TEXT NOT NULL
);

CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    corr TEXT NOT NULL,
    state TEXT NOT NULL,
    asked TEXT NOT NULL,
    owner TEXT,
    lease_boot_id TEXT,
    lease_until INTEGER,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    result TEXT,
    created_at INTEGER NOT NULL,
    ended_at INTEGER
);
CREATE INDEX runs_by_corr ON runs (corr, created_at, id);
CREATE INDEX runs_by_time ON runs (created_at, id);
CREATE INDEX runs_by_state ON runs (state, created_at, id);

CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    status TEXT NOT NULL,
    evidence TEXT,
    priority INTEGER NOT NULL,
    project_id TEXT,
    blocked_reason TEXT,
    version INTEGER NOT NULL,
    claim_agent TEXT,
    claim_token INTEGER,
    claim_boot_id TEXT,
    claim_until INTEGER,
    run_id TEXT REFERENCES runs (id),
    number INTEGER,
    name TEXT,
    spec TEXT,
    open_dependencies INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
CREATE INDEX tasks_by_run ON tasks (run_id, number) WHERE run_id IS NOT NULL;
CREATE INDEX tasks_by_priority ON tasks (priority DESC, created_at DESC, id DESC);
CREATE INDEX tasks_by_status ON tasks (status, priority DESC, created_at DESC, id DESC);
CREATE INDEX tasks_by_project ON tasks (project_id, status, priority DESC, created_at DESC, id DESC)
    WHERE project_id IS NOT NULL;
CREATE INDEX tasks_claimed ON tasks (claim_agent, id) WHERE claim_agent IS NOT NULL;
CREATE INDEX tasks_ready ON tasks (status, priority DESC, created_at, id)
    WHERE status = 'todo' AND open_dependencies = 0;

CREATE TABLE task_dependencies (
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    depends_on TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    PRIMARY KEY (task_id, depends_on)
);
CREATE INDEX task_dependents ON task_dependencies (depends_on, task_id);

CREATE TABLE attempts (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    number INTEGER NOT NULL,
    state TEXT NOT NULL,
    begun TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    heartbeat_at INTEGER,
    outcome TEXT,
    UNIQUE (task_id, number)
);
CREATE INDEX attempts_open ON attempts (run_id, id) WHERE state = 'started';

CREATE TABLE agents (
    name TEXT PRIMARY KEY,
    focus_task_id TEXT,
    focus_project_id TEXT,
    last_active_at INTEGER NOT NULL
);

-- Answers by request id. A pruned answer leaves its row, so that the request is never executed again.
CREATE TABLE requests (
    agent TEXT NOT NULL,
    request_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    answer TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (agent, request_id)
);
CREATE INDEX requests_by_time ON requests (created_at) WHERE answer IS NOT NULL;

CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
);
