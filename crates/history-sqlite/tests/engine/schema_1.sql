PRAGMA application_id = 1164072036;
PRAGMA user_version = 1;

CREATE TABLE meta (
    name TEXT PRIMARY KEY NOT NULL,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE tenant (
    n INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    turns INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    marks INTEGER NOT NULL DEFAULT 0
) STRICT;
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

INSERT INTO meta VALUES
    ('secret', x'5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e');
INSERT INTO tenant VALUES (1, x'11111111111111111111111111111111', 2, 7, 1);
-- "hello", said by the user on 2026-11-22 at 01:00, and "hi".
INSERT INTO node VALUES
    (1, 1, x'6042b938c656df288fe35250372ca1bf', NULL, 'user', 'said', 1795309200000000000, 6, 5,
     x'01010568656c6c6f'),
    (2, 1, x'83fbc284a7f5f2dda93874ef6ff428a0', 1, 'assistant', 'said', NULL, 5, 2,
     x'0101026869');
INSERT INTO mark VALUES
    (1, 1, x'2cc0b802d28aa3f01bb9094c8a139670', 1, x'09090909090909090909090909090909',
     'native', 1234, 77000000007, 'they greeted');
