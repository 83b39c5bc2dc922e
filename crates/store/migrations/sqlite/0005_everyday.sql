-- Sessions of agents, checks of ordinary tasks, trust in a project, money that is withheld.

-- The agent's process under a claim, as JSON: refreshed with the lease, and like it not rebuilt from the log.
ALTER TABLE tasks ADD COLUMN claim_holder TEXT;
-- Live claims of all agents. Look-ups of one agent's claims do not mention the token, and keep their own index.
CREATE INDEX tasks_claimed_until ON tasks (claim_boot_id, claim_until) WHERE claim_token IS NOT NULL;
