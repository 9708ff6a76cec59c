-- The number of swaps that were only noted, and of those before a branch.
ALTER TABLE conversation ADD COLUMN noted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN inherited INTEGER NOT NULL DEFAULT 0;
-- A damaged row stays one.
UPDATE conversation SET sum = row_sum('conversation', tenant, id, parent, head, turns, session, agent,
        parent_agent, user, model, shown_from, cleared, stripped, mark, compactions, strategy, requests,
        fresh, cache_read, cache_write, output, micros, micros_without, stalls_avoided, began, seen, title,
        noted, inherited)
WHERE sum IS row_sum('conversation', tenant, id, parent, head, turns, session, agent, parent_agent, user,
        model, shown_from, cleared, stripped, mark, compactions, strategy, requests, fresh, cache_read,
        cache_write, output, micros, micros_without, stalls_avoided, began, seen, title);
