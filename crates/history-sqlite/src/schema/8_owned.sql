-- The texts that leave with what they belong to. `chunk` keeps the others: a cache, which goes with any turn. This
-- is a table of its own because SQLite reads all rows of a STRICT table that gets another column, so that a
-- damaged page of the cache would keep a store from being opened.
CREATE TABLE owned (
    n INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL REFERENCES tenant (n),
    hash BLOB NOT NULL,
    -- The id of a conversation or a turn.
    owner BLOB NOT NULL,
    summary TEXT NOT NULL,
    sum INTEGER
) STRICT;
CREATE UNIQUE INDEX owned_by_hash ON owned (tenant, hash);
-- A purge looks at the owners without reading the texts.
CREATE INDEX owned_by_owner ON owned (tenant, owner);
