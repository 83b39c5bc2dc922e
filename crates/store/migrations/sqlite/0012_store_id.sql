-- The id of the store: one row, which whoever makes or migrates the store writes. A copy of the file keeps it.
CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    store_id TEXT NOT NULL,
    seal BLOB
);

-- PostgreSQL has this form of the expression too.
DROP INDEX runs_by_parent;
CREATE INDEX runs_by_parent ON runs (asked ->> 'parent_run', id) WHERE asked ->> 'parent_run' IS NOT NULL;
