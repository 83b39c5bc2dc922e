-- The AOP session that a run belongs to. NULL for other runs.
ALTER TABLE runs ADD COLUMN session_id TEXT;
CREATE INDEX runs_by_session ON runs (session_id, created_at, id) WHERE session_id IS NOT NULL;
CREATE INDEX runs_of_sessions ON runs (created_at, id, session_id) WHERE session_id IS NOT NULL;
