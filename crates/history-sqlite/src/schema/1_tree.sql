-- What belongs to the store itself: its secret.
CREATE TABLE meta (
    name TEXT PRIMARY KEY NOT NULL,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Whoever owns an API key, and how much is held for them.
CREATE TABLE tenant (
    n INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    turns INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    marks INTEGER NOT NULL DEFAULT 0
) STRICT;

-- A turn, once. The way to the root goes by numbers; a parent's number is always the smaller one.
-- "text" is how many bytes of readable text it has; the body is the last column, so that walking up
-- never reads it.
CREATE TABLE node (
    n INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL REFERENCES tenant (n),
    id BLOB NOT NULL,
    parent INTEGER REFERENCES node (n),
    role TEXT NOT NULL,
    provenance TEXT NOT NULL,
    at INTEGER,
    tokens INTEGER NOT NULL,
    text INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX node_by_id ON node (tenant, id);
CREATE INDEX node_by_parent ON node (parent);

-- A summary that stands for the turns up to a node.
CREATE TABLE mark (
    n INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL REFERENCES tenant (n),
    id BLOB NOT NULL,
    node INTEGER NOT NULL REFERENCES node (n) ON DELETE CASCADE,
    made_from BLOB NOT NULL,
    route TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    at INTEGER NOT NULL,
    summary TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX mark_by_id ON mark (tenant, id);
CREATE INDEX mark_by_node ON mark (node);
