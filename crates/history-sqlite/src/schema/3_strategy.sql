-- What the strategy of a conversation goes on from.
ALTER TABLE conversation ADD COLUMN strategy TEXT;
