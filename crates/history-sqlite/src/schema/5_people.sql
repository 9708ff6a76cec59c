-- The title of a conversation.
ALTER TABLE conversation ADD COLUMN title TEXT;
-- A damaged row stays one.
UPDATE conversation SET sum = row_sum('conversation', tenant, id, parent, head, turns, session, agent,
        parent_agent, user, model, shown_from, cleared, stripped, mark, compactions, strategy, requests,
        fresh, cache_read, cache_write, output, micros, micros_without, stalls_avoided, began, seen, title)
WHERE sum IS row_sum('conversation', tenant, id, parent, head, turns, session, agent, parent_agent, user,
        model, shown_from, cleared, stripped, mark, compactions, strategy, requests, fresh, cache_read,
        cache_write, output, micros, micros_without, stalls_avoided, began, seen);

-- The events of a conversation, for people. Replacing a row of "conversation" leaves it, removing one does not.
CREATE TABLE journal (
    n INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    conversation BLOB NOT NULL,
    text TEXT NOT NULL,
    sum INTEGER,
    UNIQUE (tenant, conversation)
) STRICT;

CREATE TRIGGER journal_leaves AFTER DELETE ON conversation
BEGIN
    DELETE FROM journal WHERE tenant = OLD.tenant AND conversation = OLD.id;
END;
