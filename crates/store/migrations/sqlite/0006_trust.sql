-- Trust: principals, seals, evidence, changes that are seen.

-- What a brief is made of: 0 for changes, the engine's records and bookkeeping, so that no number of them hides a note;
-- 1 for notes; 2 for kinds that repeat, which are looked up one by one. `Substance::of` decides it for new events. It is a
-- column of the indexes so that a look-up prefers them to the index of all events.
-- SQLite reads the text of every index when it opens a store, so the indexes no longer have the lists of kinds.
DROP INDEX events_said;
DROP INDEX events_said_in_project;
DROP INDEX events_said_without_task;
DROP INDEX events_repeated;
DROP INDEX events_repeated_in_project;
ALTER TABLE events ADD COLUMN substance INTEGER NOT NULL DEFAULT 0;
UPDATE events SET substance = CASE
    WHEN kind IN ('checkpoint', 'last_words', 'todo_snapshot', 'tool_failure', 'tool_success', 'user_prompt') THEN 2
    WHEN is_change = 1 OR sender = 'service.writ' OR kind IN (
        'agent_completed', 'agent_focus', 'agent_spawned', 'artifact_added', 'events_pruned', 'events_summary',
        'heartbeat', 'memory_delete', 'memory_gc', 'memory_upserted', 'project_created', 'run_completed',
        'session_end', 'session_start', 'task_assigned', 'task_completed_signal', 'task_created', 'task_deleted',
        'task_dependency_added', 'task_dependency_removed', 'task_priority_changed', 'task_status', 'task_verified')
        THEN 0
    ELSE 1 END;
CREATE INDEX events_notes ON events (task_id, substance, id) WHERE substance = 1;
CREATE INDEX events_notes_in_project ON events (project_id, substance, id) WHERE substance = 1;
CREATE INDEX events_notes_without_task ON events (project_id, substance, id) WHERE substance = 1 AND task_id IS NULL;
CREATE INDEX events_repeated ON events (task_id, substance, kind, id) WHERE substance = 2;
CREATE INDEX events_repeated_in_project ON events (project_id, substance, kind, id) WHERE substance = 2;

-- How far an event's time is before that of the event before it; NULL where time went on.
ALTER TABLE events ADD COLUMN steps_back_ms INTEGER;

-- The environment of the person who trusted a project, in which its checks run, and the files that they name.
ALTER TABLE trusted_projects ADD COLUMN basis TEXT;

-- What a person hands to a program so that it may decide for them. Only the digest of a token's secret is kept.
CREATE TABLE access_tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    scope TEXT NOT NULL,
    hash TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER,
    revoked_at INTEGER
);

-- A token proves itself by the store's key. Up to the last number that was given out before, a token is its number alone.
INSERT INTO counters (name, value) SELECT 'fencing_plain', value FROM counters WHERE name = 'fencing';
-- The digest of the token that another store gave the worker of an imported assignment.
ALTER TABLE assignments ADD COLUMN token_hash TEXT;

-- The engine that works under a lock, as JSON. NULL for locks that only a lease protects.
ALTER TABLE locks ADD COLUMN holder TEXT;
