-- What stands around the tree, counted with what is held.
ALTER TABLE tenant ADD COLUMN conversations INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenant ADD COLUMN beside INTEGER NOT NULL DEFAULT 0;
UPDATE tenant SET beside = (
    SELECT coalesce(sum(octet_length(summary)), 0) FROM mark WHERE mark.tenant = tenant.n
);

CREATE TABLE conversation (
    n INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL REFERENCES tenant (n),
    id BLOB NOT NULL,
    parent BLOB,
    head BLOB NOT NULL,
    turns INTEGER NOT NULL,
    session TEXT,
    agent TEXT,
    parent_agent TEXT,
    user TEXT,
    model TEXT NOT NULL,
    shown_from BLOB NOT NULL,
    cleared BLOB NOT NULL,
    stripped BLOB NOT NULL,
    mark BLOB,
    compactions INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    fresh INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    output INTEGER NOT NULL,
    micros INTEGER NOT NULL,
    micros_without INTEGER NOT NULL,
    stalls_avoided INTEGER NOT NULL,
    began INTEGER NOT NULL,
    seen INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX conversation_by_id ON conversation (tenant, id);
CREATE INDEX conversation_by_head ON conversation (tenant, head);
CREATE INDEX conversation_by_seen ON conversation (tenant, seen);

-- Pins set from outside. A conversation may be pinned to before it is saved.
CREATE TABLE pin (
    n INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL REFERENCES tenant (n),
    conversation BLOB NOT NULL,
    id TEXT NOT NULL,
    origin TEXT NOT NULL,
    at INTEGER,
    tokens INTEGER NOT NULL,
    said_in BLOB,
    text TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX pin_by_id ON pin (tenant, conversation, id);

-- What was sent in place of a turn or beside it.
CREATE TABLE edition (
    n INTEGER PRIMARY KEY,
    node INTEGER NOT NULL REFERENCES node (n) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    result INTEGER,
    at INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX edition_by_node ON edition (node);

-- The message that a turn was read from, where the turn does not hold all of it.
CREATE TABLE original (
    node INTEGER PRIMARY KEY REFERENCES node (n) ON DELETE CASCADE,
    message BLOB NOT NULL
) STRICT;

-- Summaries of stretches of turns, by a hash of these: a cache.
CREATE TABLE chunk (
    n INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL REFERENCES tenant (n),
    hash BLOB NOT NULL,
    summary TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX chunk_by_hash ON chunk (tenant, hash);
