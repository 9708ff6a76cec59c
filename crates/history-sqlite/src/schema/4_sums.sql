-- Checksums of what no id covers. A row without one is damaged.
ALTER TABLE mark ADD COLUMN sum INTEGER;
ALTER TABLE edition ADD COLUMN sum INTEGER;
ALTER TABLE pin ADD COLUMN sum INTEGER;
ALTER TABLE chunk ADD COLUMN sum INTEGER;
-- "place" covers what says which conversation it is: it holds where another column is damaged.
ALTER TABLE conversation ADD COLUMN place INTEGER;
ALTER TABLE conversation ADD COLUMN sum INTEGER;

-- Beside the turns and the messages, which are long: adding a column would rewrite them all.
CREATE TABLE turn_sum (
    node INTEGER PRIMARY KEY REFERENCES node (n) ON DELETE CASCADE,
    sum INTEGER,
    original INTEGER
) STRICT;

INSERT INTO turn_sum (node, sum, original)
SELECT node.n,
    row_sum('turn', node.id, node.role, node.provenance, node.at, node.tokens, node.text),
    (SELECT row_sum('original', node.id, original.message) FROM original WHERE original.node = node.n)
FROM node;
UPDATE mark SET sum = row_sum('mark', mark.id, mark.made_from, mark.tokens, mark.at);
-- What was damaged before and can be told by its form gets no checksum.
UPDATE edition SET sum =
    (SELECT row_sum('edition', node.id, edition.kind, edition.result, edition.at, edition.text)
     FROM node WHERE node.n = edition.node)
WHERE kind = 'shrunk' OR json_valid(text);
UPDATE pin SET sum = row_sum('pin', tenant, conversation, id, origin, at, tokens, said_in, text);
UPDATE chunk SET sum = row_sum('chunk', tenant, hash, summary);
UPDATE conversation SET place = row_sum('place', tenant, id, head),
    sum = row_sum('conversation', tenant, id, parent, head, turns, session, agent, parent_agent, user,
        model, shown_from, cleared, stripped, mark, compactions, strategy, requests, fresh, cache_read,
        cache_write, output, micros, micros_without, stalls_avoided, began, seen);
