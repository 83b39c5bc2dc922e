-- Sessions of agents, checks of ordinary tasks, trust in a project, money that is withheld.

-- Constraints of a run that came from elsewhere, where they are not writ's own.
ALTER TABLE handoffs ADD COLUMN constraints TEXT;
