-- Sessions of agents, checks of ordinary tasks, trust in a project, money that is withheld.

-- Names of tasks and runs: the newest runs with their directories, and a run's tasks by their ids in the plan.
ALTER TABLE runs ADD COLUMN workspace TEXT NOT NULL DEFAULT '';
UPDATE runs SET workspace = coalesce(json_extract(asked, '$.workspace'), '');
DROP INDEX runs_by_time;
CREATE INDEX runs_by_time ON runs (created_at, id, workspace);
CREATE INDEX tasks_by_name ON tasks (run_id, name) WHERE run_id IS NOT NULL;
