-- The runs that the tasks of a run started.
CREATE INDEX runs_by_parent ON runs (asked ->> '$.parent_run', id) WHERE asked ->> '$.parent_run' IS NOT NULL;
