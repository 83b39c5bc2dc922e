-- Sessions of agents, checks of ordinary tasks, trust in a project, money that is withheld.

-- The agent's process under a claim, as JSON: refreshed with the lease, and like it not rebuilt from the log.
ALTER TABLE tasks ADD COLUMN claim_holder TEXT;
-- Live claims of all agents. Look-ups of one agent's claims do not mention the token, and keep their own index.
CREATE INDEX tasks_claimed_until ON tasks (claim_boot_id, claim_until) WHERE claim_token IS NOT NULL;
ALTER TABLE tasks ADD COLUMN claim_since INTEGER;

-- What a brief is made of. Changes, the engine's records and bookkeeping are left out, so that no number of them hides
-- a note; kinds that repeat are looked up one by one. `is_change` is a column of its index so that a look-up prefers
-- it to the index of all events.
CREATE INDEX events_said ON events (task_id, is_change, id) WHERE task_id IS NOT NULL AND is_change = 0
    AND sender <> 'service.writ'
    AND kind NOT IN ('agent_completed', 'agent_focus', 'agent_spawned', 'artifact_added', 'events_pruned',
        'events_summary', 'heartbeat', 'memory_delete', 'memory_gc', 'memory_upserted', 'project_created',
        'run_completed', 'session_end', 'session_start', 'task_assigned', 'task_completed_signal', 'task_created',
        'task_deleted', 'task_dependency_added', 'task_dependency_removed', 'task_priority_changed', 'task_status',
        'task_verified', 'checkpoint', 'last_words', 'todo_snapshot', 'tool_failure', 'tool_success', 'user_prompt');
CREATE INDEX events_said_in_project ON events (project_id, is_change, id) WHERE project_id IS NOT NULL
    AND is_change = 0 AND sender <> 'service.writ'
    AND kind NOT IN ('agent_completed', 'agent_focus', 'agent_spawned', 'artifact_added', 'events_pruned',
        'events_summary', 'heartbeat', 'memory_delete', 'memory_gc', 'memory_upserted', 'project_created',
        'run_completed', 'session_end', 'session_start', 'task_assigned', 'task_completed_signal', 'task_created',
        'task_deleted', 'task_dependency_added', 'task_dependency_removed', 'task_priority_changed', 'task_status',
        'task_verified', 'checkpoint', 'last_words', 'todo_snapshot', 'tool_failure', 'tool_success', 'user_prompt');
CREATE INDEX events_said_without_task ON events (project_id, is_change, id) WHERE project_id IS NOT NULL
    AND task_id IS NULL AND is_change = 0 AND sender <> 'service.writ'
    AND kind NOT IN ('agent_completed', 'agent_focus', 'agent_spawned', 'artifact_added', 'events_pruned',
        'events_summary', 'heartbeat', 'memory_delete', 'memory_gc', 'memory_upserted', 'project_created',
        'run_completed', 'session_end', 'session_start', 'task_assigned', 'task_completed_signal', 'task_created',
        'task_deleted', 'task_dependency_added', 'task_dependency_removed', 'task_priority_changed', 'task_status',
        'task_verified', 'checkpoint', 'last_words', 'todo_snapshot', 'tool_failure', 'tool_success', 'user_prompt');
CREATE INDEX events_repeated ON events (task_id, kind, id) WHERE task_id IS NOT NULL
    AND kind IN ('checkpoint', 'last_words', 'todo_snapshot', 'tool_failure', 'tool_success', 'user_prompt');
CREATE INDEX events_repeated_in_project ON events (project_id, kind, id) WHERE project_id IS NOT NULL
    AND kind IN ('checkpoint', 'last_words', 'todo_snapshot', 'tool_failure', 'tool_success', 'user_prompt');

-- Names of tasks and runs: the newest runs with their directories, and a run's tasks by their ids in the plan.
ALTER TABLE runs ADD COLUMN workspace TEXT NOT NULL DEFAULT '';
UPDATE runs SET workspace = coalesce(json_extract(asked, '$.workspace'), '');
DROP INDEX runs_by_time;
CREATE INDEX runs_by_time ON runs (created_at, id, workspace);
CREATE INDEX tasks_by_name ON tasks (run_id, name) WHERE run_id IS NOT NULL;

-- Checks of a task outside a plan: who wrote them, where they run, the commands.
ALTER TABLE tasks ADD COLUMN checks TEXT;

-- Projects whose commands a person allowed. They may run while the digest of the commands is this one.
CREATE TABLE trusted_projects (
    directory TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    commands TEXT NOT NULL,
    trusted_by TEXT NOT NULL,
    trusted_at INTEGER NOT NULL
);

-- Money of tasks that ended without a report of what they spent: withheld until someone settles it.
ALTER TABLE budgets ADD COLUMN cost_withheld INTEGER NOT NULL DEFAULT 0;
ALTER TABLE budgets ADD COLUMN tokens_withheld INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reservations ADD COLUMN cost_withheld INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reservations ADD COLUMN tokens_withheld INTEGER NOT NULL DEFAULT 0;

-- Constraints of a run that came from elsewhere, where they are not writ's own.
ALTER TABLE handoffs ADD COLUMN constraints TEXT;
