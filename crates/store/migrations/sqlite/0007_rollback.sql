-- The last rollback or redo whose newest attempt this is, as JSON. NULL if there was none.
ALTER TABLE attempts ADD COLUMN rollback TEXT;
