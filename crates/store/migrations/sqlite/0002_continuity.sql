-- What agents remember, register and have seen.

-- A stream's events up to this one are archived: a summary stands for them, and lists leave them out.
ALTER TABLE heads ADD COLUMN archived_seq INTEGER NOT NULL DEFAULT 0;
CREATE INDEX events_by_project ON events (project_id, id);

-- `scope_id` is empty for the global scope: a key is unique within its scope.
CREATE TABLE memories (
    id INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    value_type TEXT NOT NULL,
    kind TEXT NOT NULL,
    half_life_days REAL,
    pinned INTEGER NOT NULL,
    expires_at INTEGER,
    source_task_id TEXT,
    source_event_id INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    access_count INTEGER NOT NULL DEFAULT 0,
    last_accessed_at INTEGER,
    UNIQUE (scope, scope_id, key)
);
CREATE INDEX memories_by_time ON memories (scope, scope_id, pinned DESC, updated_at DESC, id DESC);
CREATE INDEX memories_by_expiry ON memories (expires_at, id) WHERE expires_at IS NOT NULL AND pinned = 0;

CREATE VIRTUAL TABLE memory_words USING fts5 (key, value, content = 'memories', content_rowid = 'id');
CREATE TRIGGER memories_added AFTER INSERT ON memories BEGIN
    INSERT INTO memory_words (rowid, key, value) VALUES (new.id, new.key, new.value);
END;
CREATE TRIGGER memories_removed AFTER DELETE ON memories BEGIN
    INSERT INTO memory_words (memory_words, rowid, key, value) VALUES ('delete', old.id, old.key, old.value);
END;
CREATE TRIGGER memories_changed AFTER UPDATE OF key, value ON memories BEGIN
    INSERT INTO memory_words (memory_words, rowid, key, value) VALUES ('delete', old.id, old.key, old.value);
    INSERT INTO memory_words (rowid, key, value) VALUES (new.id, new.key, new.value);
END;

-- Files that belong to a task. `number` orders them.
CREATE TABLE artifacts (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    event_id INTEGER,
    project_id TEXT,
    file_path TEXT NOT NULL,
    content_type TEXT NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX artifacts_by_task ON artifacts (task_id, number DESC);

CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    metadata TEXT NOT NULL,
    created_at INTEGER NOT NULL
);

-- How far each agent has read, in each project and outside of them (empty). Bookkeeping of delivery, no event.
CREATE TABLE cursors (
    agent TEXT NOT NULL,
    project_id TEXT NOT NULL,
    last_event_id INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (agent, project_id)
);

ALTER TABLE agents ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
CREATE INDEX agents_by_focus ON agents (focus_task_id) WHERE focus_task_id IS NOT NULL;

-- How many tasks each project has in each state; `project_id` is empty for those outside of projects.
CREATE TABLE task_tallies (
    project_id TEXT NOT NULL,
    status TEXT NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (project_id, status)
);
INSERT INTO task_tallies (project_id, status, tasks)
    SELECT coalesce(project_id, ''), status, count(*) FROM tasks GROUP BY 1, 2;

CREATE INDEX tasks_finished ON tasks (project_id, updated_at DESC, id DESC) WHERE status = 'done';
CREATE INDEX tasks_ready_in_project ON tasks (project_id, priority DESC, created_at, id)
    WHERE status = 'todo' AND open_dependencies = 0 AND run_id IS NULL;
-- Work outside of runs: an agent that resumes looks here for what another left behind.
CREATE INDEX tasks_working ON tasks (project_id, priority DESC, created_at, id)
    WHERE status = 'in_progress' AND run_id IS NULL;
CREATE INDEX tasks_working_anywhere ON tasks (status, priority DESC, created_at, id)
    WHERE status = 'in_progress' AND run_id IS NULL;
