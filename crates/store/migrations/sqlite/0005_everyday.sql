-- Sessions of agents, checks of ordinary tasks, trust in a project, money that is withheld.

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
