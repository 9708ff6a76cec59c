-- The id of the conversation or the turn that a text leaves with. None: a cache, which goes with any turn.
ALTER TABLE chunk ADD COLUMN owner BLOB;
-- A damaged row stays one.
UPDATE chunk SET sum = row_sum('chunk', tenant, hash, summary, owner)
WHERE sum IS row_sum('chunk', tenant, hash, summary);
-- A purge looks at the owners without reading the texts.
CREATE INDEX chunk_by_owner ON chunk (tenant, owner);
